// What part of the map is seen: a middle and a zoom, whatever the window's size is. Of a map in space
// what is seen is a plane of it, which turns.

const MOST = 400;
/** What is seen of a box in space, in its diagonals: all of it, but for a corner in some turns. */
const ACROSS = 0.8;
/** Degrees a pixel of a drag that turns. */
const DEGREES = 0.4;
const LEAST = 0.5;

class View {
  /**
   * @param frame [[x0, x1], [y0, y1]], in space [z0, z1] as well: what is seen at zoom 1
   * @param corner in space, degrees round the upright and above the floor from where it is seen
   */
  constructor(frame, corner) {
    this.width = this.height = 1;
    this.reframe(frame, corner);
    this.reset();
  }

  reframe(frame, corner) {
    [this.frame, this.corner] = [frame, corner];
    this.centre = frame.map(([low, high]) => (low + high) / 2);
    this.span = frame.map(([low, high]) => high - low || 1);
    this.middle = this.centre;
    this.axes = null;
    if (frame.length < 3) return;
    const across = ACROSS * Math.hypot(...this.span);
    this.span = [across, across];
    [this.x, this.y, this.middle] = [0, 0, [0, 0]];
    this.turnTo(...corner);
  }

  reset() {
    if (this.axes) this.turnTo(...this.corner);
    [this.x, this.y] = this.middle;
    this.zoom = 1;
  }

  /** See space from degrees round the upright and above the floor; what is in the middle stays. */
  turnTo(round, above) {
    this.turned = [((round % 360) + 360) % 360, Math.min(90, Math.max(-90, above))];
    const [a, e] = this.turned.map((degrees) => (degrees * Math.PI) / 180);
    const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
    // Rounded: who applies a selection elsewhere must have the same numbers.
    const rounded = (axis) => axis.map((share) => +share.toFixed(6));
    this.axes = [rounded([-sa, ca, 0]), rounded([-se * ca, -se * sa, ce])];
    this.toward = [ce * ca, ce * sa, se];
    const moved = [this.x - this.middle[0], this.y - this.middle[1]];
    this.middle = this.axes.map((axis) => along(axis, this.centre));
    [this.x, this.y] = [this.middle[0] + moved[0], this.middle[1] + moved[1]];
  }

  turn(dx, dy) {
    this.turnTo(this.turned[0] - dx * DEGREES, this.turned[1] + dy * DEGREES);
  }

  /** A place of the map on the plane that is seen. */
  flat(at) {
    return this.axes ? this.axes.map((axis) => along(axis, at)) : at;
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
  }

  /** Pixels a unit of the map. */
  get scale() {
    return this.zoom * Math.min(this.width / this.span[0], this.height / this.span[1]);
  }

  /** Ends of the map that are seen: x0, y0, x1, y1. */
  get window() {
    const half = [this.width / 2 / this.scale, this.height / 2 / this.scale];
    return [this.x - half[0], this.y - half[1], this.x + half[0], this.y + half[1]];
  }

  toPixel(x, y) {
    return [
      this.width / 2 + (x - this.x) * this.scale,
      this.height / 2 - (y - this.y) * this.scale,
    ];
  }

  toMap(px, py) {
    return [
      this.x + (px - this.width / 2) / this.scale,
      this.y - (py - this.height / 2) / this.scale,
    ];
  }

  pan(dx, dy) {
    const { scale } = this;
    this.x -= dx / scale;
    this.y += dy / scale;
    this.keep();
  }

  /** Zoom so that the place under a pixel stays under it. */
  zoomAt(factor, px, py) {
    const [x, y] = this.toMap(px, py);
    this.zoom = Math.min(MOST, Math.max(LEAST, this.zoom * factor));
    const [nowX, nowY] = this.toMap(px, py);
    this.x += x - nowX;
    this.y += y - nowY;
    this.keep();
  }

  /** Never lose the map out of sight. */
  keep() {
    this.x = Math.min(Math.max(this.x, this.middle[0] - this.span[0]), this.middle[0] + this.span[0]);
    this.y = Math.min(Math.max(this.y, this.middle[1] - this.span[1]), this.middle[1] + this.span[1]);
  }

  /** As numbers for a link: the middle in spans of the frame, and the zoom; 0, 0, 1 at the start. In
      space the degrees it is turned by, too. */
  get saved() {
    const share = (value, k) => (value - this.middle[k]) / this.span[k];
    const turned = this.axes ? this.turned : [];
    return [share(this.x, 0), share(this.y, 1), this.zoom, ...turned].map((v) => +v.toPrecision(9));
  }

  set saved(saved) {
    if (!saved) return this.reset();
    if (this.axes && saved.length === 5) this.turnTo(saved[3], saved[4]);
    this.x = this.middle[0] + saved[0] * this.span[0];
    this.y = this.middle[1] + saved[1] * this.span[1];
    this.zoom = Math.min(MOST, Math.max(LEAST, saved[2]));
    this.keep();
  }
}

/** How far a place lies along a direction. */
function along([a, b, c], [x, y, z]) {
  return x * a + y * b + z * c;
}

/** What painters take of the way space is seen; null on a flat map. */
function spaceSeen(view) {
  if (!view.axes) return null;
  const { axes, toward } = view;
  return { axes, toward, middle: along(toward, view.centre), across: view.span[0] };
}

/**
 * What painters take of rows while γ moves.
 * @param values their errors between two bandwidths
 * @param sampled numbers of the rows that have one, the others are not shown; null: all
 * @param flags what is known of rows otherwise
 */
function rowsBetween(values, sampled, flags) {
  const errors = new Int16Array(flags.length);
  const bits = sampled ? new Uint8Array(flags.length) : flags.slice();
  for (let k = 0; k < values.length; k++) {
    const i = sampled ? sampled[k] : k;
    const isLonely = values[k] === NOTHING;
    errors[i] = isLonely ? 0 : Math.round(values[k] * 32767);
    bits[i] = (flags[i] & ~LONELY) | (isLonely ? LONELY : 0);
  }
  return { errors, flags: bits };
}
