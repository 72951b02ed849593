// The parts of the landscape that are elements of the page; names on the map, none over another.

const ICONS = {
  turn: "M13.5 8A5.5 2.6 0 1 1 8 5.4h4M10 3l2.2 2.4L10 7.6M8 1v14",
  pan: "M8 1v14M1 8h14M8 1l-2 2M8 1l2 2M8 15l-2-2M8 15l2-2M1 8l2-2M1 8l2 2M15 8l-2-2M15 8l-2 2",
  lasso: "M8 3c4 0 6.5 1.6 6.5 4S12 11 8 11 1.5 9.4 1.5 7 4 3 8 3M5 11c-1 1-1 2 .5 2.5S7 15 6 15",
  box: "M2 3h12v10H2z",
  in: "M8 3v10M3 8h10",
  out: "M3 8h10",
  reset: "M2 6V2h4M14 6V2h-4M2 10v4h4M14 10v4h-4",
};
const TOOLS = [
  ["turn", "Turn the map (drag)"],
  ["pan", "Move the map (drag)"],
  ["lasso", "Lasso: draw around rows; Shift adds, Alt takes away"],
  ["box", "Box: draw a rectangle; Shift adds, Alt takes away. Enter on the map: all in sight"],
  ["in", "Nearer (+)"],
  ["out", "Further (−)"],
  ["reset", "All of the map (0)"],
];

/** A small drawing, as HTML. */
function icon(path) {
  return `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
}

/** Make an element. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Pixels of a canvas a pixel of the window. */
const density = () => Math.min(2, window.devicePixelRatio || 1);

/** Clear a canvas; the pen draws in pixels of the window, by the processor: where graphics are
    emulated, a line costs less so. */
function penOf(canvas, width, height) {
  const dense = density();
  const [w, h] = [Math.round(width * dense), Math.round(height * dense)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** Build everything under a root; returns the elements by what they are. */
function build(root) {
  const layer = () => element("canvas", { class: "layer", "aria-hidden": "true" });
  const parts = {
    style: element("style", {}, STYLE),
    picture: layer(),
    overlay: layer(),
    inset: element("canvas", { class: "inset", "aria-hidden": "true" }),
    glimpses: element("div", { class: "labels", "aria-hidden": "true" }),
    labels: element("div", { class: "labels" }),
    tools: element("div", { class: "tools", role: "toolbar", "aria-label": "Map" }),
    hover: element("div", { class: "hover", role: "status" }),
    said: element("div", { role: "status" }),
    scale: element("div", { class: "scale", "aria-hidden": "true" }),
    buttons: {},
  };
  parts.hover.hidden = parts.inset.hidden = true;
  for (const [name, title] of TOOLS) {
    const button = element("button", { type: "button", title, "aria-label": title });
    button.innerHTML = icon(ICONS[name]);
    parts.tools.append(button);
    parts.buttons[name] = button;
  }
  parts.stage = element(
    "div",
    { class: "stage", tabindex: "0", role: "application", "aria-roledescription": "map" },
    parts.picture, parts.overlay, parts.inset, parts.glimpses, parts.labels, parts.tools, parts.hover,
  );
  parts.foot = element("div", { class: "said" }, parts.said);
  parts.below = element("div", { class: "below" }, parts.foot, parts.scale);
  parts.box = element("div", { class: "lore" }, parts.style, parts.stage, parts.below);
  root.append(parts.box);
  return parts;
}

/** Draw the colour bar and write its ticks. */
function drawScale(node, scale, colors) {
  node.classList.toggle("names", scale.names > 0);
  if (scale.names) {
    node.replaceChildren(...scale.ticks.map(([at, words]) => {
      const mark = element("i", {});
      mark.style.background = css(colorOf(at, scale, colors));
      return element("span", {}, mark, words);
    }));
    return;
  }
  const strip = element("canvas", { width: "256", height: "1" });
  const pen = strip.getContext("2d");
  const low = scale.signed ? -scale.limit : 0;
  for (let i = 0; i < 256; i++) {
    pen.fillStyle = css(colors.slice(3 * i, 3 * i + 3));
    pen.fillRect(i, 0, 1, 1);
  }
  const ticks = scale.ticks.map(([value, words]) => {
    const tick = element("span", {}, words);
    tick.style.left = `${((value - low) / (scale.limit - low)) * 100}%`;
    return tick;
  });
  node.replaceChildren(strip, ...ticks);
}

/** Label nodes of places (buttons) and names, the places first. */
function labelNodes(scene, choose) {
  const places = scene.regions.map(({ name, title, at, number, color }) => {
    const chosen = scene.chosen === number;
    const words = title || `Place ${name}`;
    const node = element(
      "button",
      { class: "place", type: "button", title: words, "aria-label": words, "aria-pressed": chosen },
      name,
    );
    if (color) node.style.background = color;
    node.onclick = () => choose(number);
    return { at, node, number, always: true };
  });
  const names = scene.names.map(({ name, at }) => ({
    at, node: element("span", { class: "name" }, name),
  }));
  return [...places, ...names];
}

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
