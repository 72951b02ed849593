// What part of the map is seen: a middle and a zoom, whatever the window's size is.

const MOST = 400;
const LEAST = 0.5;

export class View {
  /** @param frame [[x0, x1], [y0, y1]]: what is seen at zoom 1. */
  constructor(frame) {
    this.width = this.height = 1;
    this.reframe(frame);
    this.reset();
  }

  reframe([[x0, x1], [y0, y1]]) {
    this.middle = [(x0 + x1) / 2, (y0 + y1) / 2];
    this.span = [x1 - x0 || 1, y1 - y0 || 1];
  }

  reset() {
    [this.x, this.y] = this.middle;
    this.zoom = 1;
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

  /** As numbers for a link: the middle in spans of the frame, and the zoom; 0, 0, 1 at the start. */
  get saved() {
    const share = (value, k) => (value - this.middle[k]) / this.span[k];
    return [share(this.x, 0), share(this.y, 1), this.zoom].map((v) => +v.toPrecision(9));
  }

  set saved(saved) {
    if (!saved) return this.reset();
    this.x = this.middle[0] + saved[0] * this.span[0];
    this.y = this.middle[1] + saved[1] * this.span[1];
    this.zoom = Math.min(MOST, Math.max(LEAST, saved[2]));
    this.keep();
  }
}
