// Names on the map: each where it belongs, none over another, more of them the nearer one looks.

const MARGIN = 3;

/** Place names; of those that would cover each other the more important one is shown. */
export function placeLabels(labels, view) {
  const taken = [];
  for (const label of labels) {
    const [px, py] = view.toPixel(label.x, label.y);
    const [w, h] = (label.size ??= [label.node.offsetWidth, label.node.offsetHeight]);
    const seen = px > -w / 2 && py > -h / 2 && px < view.width + w / 2 && py < view.height + h / 2;
    const box = [px - w / 2 - MARGIN, py - h / 2 - MARGIN, px + w / 2 + MARGIN, py + h / 2 + MARGIN];
    const free = taken.every(
      ([x0, y0, x1, y1]) => box[2] < x0 || box[0] > x1 || box[3] < y0 || box[1] > y1,
    );
    const shown = seen && (free || label.always);
    // Hidden, not gone: its size stays known.
    label.node.style.visibility = shown ? "visible" : "hidden";
    label.node.style.transform = `translate(${px - w / 2}px, ${py - h / 2}px)`;
    if (shown) taken.push(box);
  }
}
