// Lines over the map: around all rows, around places, rings of the worst rows, a selection; and in a
// corner, while γ is dragged, how much of the data is off by how much.

/** Draw what is thin and few on a canvas of its own. */
function drawOverlay(canvas, view, what) {
  const pen = penOf(canvas, view.width, view.height);
  pen.lineCap = pen.lineJoin = "round";
  const { look } = what;
  const pieces = (lines, color, width) => {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.beginPath();
    for (let i = 0; i < lines.length; i += 4) {
      pen.moveTo(...view.toPixel(lines[i], lines[i + 1]));
      pen.lineTo(...view.toPixel(lines[i + 2], lines[i + 3]));
    }
    pen.stroke();
  };
  // Without a line around all rows a small bin floats in nowhere.
  if (what.shape) pieces(what.shape, look.faint, 1);
  if (view.axes) pieces(boxOfSpace(view), look.faint, 1);
  // Where places of another bandwidth lie is not known yet.
  pen.globalAlpha = what.isFaint ? 0.35 : 1;
  for (const region of what.regions) {
    pieces(region.lines, look.halo, 5);
    pieces(region.lines, look.line, region.chosen || region.hot ? 3 : 1.8);
  }
  pen.globalAlpha = 1;
  const ring = (place, radius, color, width) => {
    pen.lineWidth = width;
    pen.strokeStyle = color;
    pen.beginPath();
    pen.arc(...view.toPixel(...view.flat(place)), radius, 0, 2 * Math.PI);
    pen.stroke();
  };
  const [radius, width] = view.width < 500 ? [1.8, 1] : [3.5, 1.6];
  for (const { color, at } of what.dots ?? []) {
    for (const place of at) ring(place, radius, color, width);
  }
  for (const at of what.rings) ring(at, 5, look.line, 1.4);
  for (const part of what.selection) {
    // From elsewhere its line would be round other rows.
    if (!isSamePlane(part.axes, view.axes)) continue;
    pen.setLineDash(part.sign > 0 ? [6, 4] : [2, 4]);
    outline(pen, part.x.map((x, i) => view.toPixel(x, part.y[i])), look, true);
  }
  pen.setLineDash([]);
  if (what.drawn) outline(pen, what.drawn, look, false);
  if (what.picked) {
    ring(what.picked, 9, look.halo, 6);
    ring(what.picked, 9, look.accent, 3);
  }
  if (what.pointed) ring(what.pointed, 7, look.line, 2);
}

/** Edges of the box in space that the frame is, as pieces of lines on the plane that is seen. */
function boxOfSpace(view) {
  const lines = [];
  for (let corner = 0; corner < 8; corner++) {
    for (let k = 0; k < 3; k++) {
      if (corner & (1 << k)) continue;
      for (const end of [corner, corner | (1 << k)]) {
        lines.push(...view.flat(view.frame.map((ends, axis) => ends[(end >> axis) & 1])));
      }
    }
  }
  return lines;
}

function outline(pen, corners, look, closed) {
  pen.beginPath();
  corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  if (closed) pen.closePath();
  for (const [color, width] of [[look.halo, 4], [look.line, 2]]) {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.stroke();
  }
}

/** Number of the smallest region around a place, or null: crossings of its outline tell. */
function regionAround(regions, x, y) {
  let [found, least] = [null, Infinity];
  for (const { number, lines } of regions) {
    let inside = false;
    for (let i = 0; i < lines.length; i += 4) {
      const [x0, y0, x1, y1] = lines.slice(i, i + 4);
      if (y0 > y !== y1 > y && x < x0 + ((y - y0) * (x1 - x0)) / (y1 - y0)) inside = !inside;
    }
    if (inside && lines.length < least) [found, least] = [number, lines.length];
  }
  return found;
}

/** Pixels. */
const [WIDE, HIGH] = [168, 104];

/**
 * Draw the distribution of the LCE.
 * @param lce its quantiles at the dragged γ, evenly spaced from 0 to 1
 * @param before those at the γ that was taken last; null where they are not there
 * @param most LCE at the right end: that of the colours, so that it stays where it is
 */
function drawInset(canvas, { lce, before, most, look }) {
  const pen = penOf(canvas, WIDE, HIGH);
  pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  pen.fillStyle = look.ink;
  const at = (share) => (100 * lce[Math.round(share * (lce.length - 1))]).toFixed(1);
  pen.fillText(`half of the rows: LCE ≤ ${at(0.5)}`, 8, 16);
  pen.fillText(`nine in ten: ≤ ${at(0.9)} points`, 8, 30);
  const [top, bottom] = [38, HIGH - 8];
  const line = (quantiles, color, width) => {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.beginPath();
    quantiles.forEach((value, k) => {
      const x = 8 + Math.min(1, value / most) * (WIDE - 16);
      pen.lineTo(x, bottom - (k / (quantiles.length - 1)) * (bottom - top));
    });
    pen.stroke();
  };
  if (before) line(before, look.quiet, 1);
  line(lce, look.accent, 2);
}
