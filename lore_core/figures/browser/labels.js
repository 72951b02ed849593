// Names on the map: none over another, each as near its place as can be, more the nearer one looks.

const MARGIN = 3;
/** Lines a name may move up or down to make room. */
const SHIFTS = [0, -1, 1, -2, 2];

/** Place names, the more important first; a name for which there is no room is hidden.
    Returns the boxes that are taken. */
function placeLabels(labels, view) {
  const taken = [];
  for (const label of labels) {
    const [px, py] = view.toPixel(...view.flat(label.at));
    const [w, h] = (label.size ??= [label.node.offsetWidth, label.node.offsetHeight]);
    const seen = px > -w / 2 && py > -h / 2 && px < view.width + w / 2 && py < view.height + h / 2;
    const boxes = SHIFTS.map((lines) => boxAround(px, py + lines * (h + MARGIN), w, h));
    const box = boxes.find((tried) => taken.every((other) => isApart(tried, other)));
    const place = box ?? (label.always ? boxes[0] : null);
    // Hidden, not gone: its size stays known.
    label.node.style.visibility = seen && place ? "visible" : "hidden";
    if (!seen || !place) continue;
    label.node.style.transform = `translate(${place[0] + MARGIN}px, ${place[1] + MARGIN}px)`;
    taken.push(place);
  }
  return taken;
}

/** The box that an element takes within its parent. */
function boxOf({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) {
  return [offsetLeft, offsetTop, offsetLeft + offsetWidth, offsetTop + offsetHeight];
}

/** The box around a place, with a margin. */
function boxAround(x, y, w, h) {
  const [left, top] = [x - w / 2 - MARGIN, y - h / 2 - MARGIN];
  return [left, top, left + w + 2 * MARGIN, top + h + 2 * MARGIN];
}

/** Whether two boxes do not overlap. */
function isApart([x0, y0, x1, y1], [left, top, right, bottom]) {
  return x1 < left || x0 > right || y1 < top || y0 > bottom;
}
