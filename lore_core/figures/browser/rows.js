// Rows by where they lie: which is nearest, how many are seen, which lie in a selection.

const CELLS = 256;

/** Rows sorted into the cells of a grid over the map; in space, over the plane that is seen. */
class RowIndex {
  /** @param axes what is right and up on the plane, or null on a flat map */
  constructor(rows, axes) {
    this.axes = axes;
    const [x, y] = axes ? axes.map((axis) => columnAlong(axis, rows)) : [rows.x, rows.y];
    [this.x, this.y] = [x, y];
    const n = x.length;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      if (x[i] < x0) x0 = x[i];
      if (x[i] > x1) x1 = x[i];
      if (y[i] < y0) y0 = y[i];
      if (y[i] > y1) y1 = y[i];
    }
    this.low = [x0, y0];
    this.step = [(x1 - x0) / CELLS || 1, (y1 - y0) / CELLS || 1];
    this.start = new Uint32Array(CELLS * CELLS + 1);
    const cell = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      cell[i] = this.cell(y[i], 1) * CELLS + this.cell(x[i], 0);
      this.start[cell[i] + 1]++;
    }
    for (let c = 0; c < CELLS * CELLS; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice();
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.rows[next[cell[i]]++] = i;
  }

  cell(value, k) {
    const at = Math.floor((value - this.low[k]) / this.step[k]);
    return Math.min(CELLS - 1, Math.max(0, at));
  }

  /** Runs of rows in the cells that a rectangle of the map touches. */
  *runs([x0, y0, x1, y1]) {
    const [c0, c1] = [this.cell(x0, 0), this.cell(x1, 0)];
    for (let row = this.cell(y0, 1); row <= this.cell(y1, 1); row++) {
      yield [this.start[row * CELLS + c0], this.start[row * CELLS + c1 + 1]];
    }
  }

  /** About how many rows lie in a rectangle. */
  count(window) {
    let n = 0;
    for (const [from, to] of this.runs(window)) n += to - from;
    return n;
  }

  /** Rows in a rectangle that a test lets pass. */
  within([x0, y0, x1, y1], passes) {
    const found = [];
    for (const [from, to] of this.runs([x0, y0, x1, y1])) {
      for (let k = from; k < to; k++) {
        const i = this.rows[k];
        const inside = this.x[i] >= x0 && this.x[i] <= x1 && this.y[i] >= y0 && this.y[i] <= y1;
        if (inside && passes(i)) found.push(i);
      }
    }
    return found;
  }

  /** The row nearest to a place that a test lets pass, at most `reach` away; -1 if none is. Where
      `ahead(i)` says how far in front a row is, the foremost of them. */
  nearest(x, y, reach, passes, ahead = null) {
    let best = -1;
    let least = Infinity;
    for (const [from, to] of this.runs([x - reach, y - reach, x + reach, y + reach])) {
      for (let k = from; k < to; k++) {
        const i = this.rows[k];
        const far = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
        if (far > reach * reach || !passes(i)) continue;
        const cost = ahead ? -ahead(i) : far;
        if (cost <= least) [best, least] = [i, cost];
      }
    }
    return best;
  }

  mark({ sign, x, y }, inside) {
    const crossed = this.crossed(x, y);
    const [c0, c1] = [this.cell(Math.min(...x), 0), this.cell(Math.max(...x), 0)];
    for (let row = this.cell(Math.min(...y), 1); row <= this.cell(Math.max(...y), 1); row++) {
      for (let c = row * CELLS + c0; c <= row * CELLS + c1; c++) {
        let within = null;
        for (let k = this.start[c]; k < this.start[c + 1]; k++) {
          const i = this.rows[k];
          // In a cell that no edge comes near all rows are in, or none.
          if (within === null || crossed[c]) within = contains(x, y, this.x[i], this.y[i]);
          if (within) inside[i] = sign > 0 ? 1 : 0;
        }
      }
    }
  }

  /** Mark the cells that an edge of a polygon comes near. */
  crossed(x, y) {
    const found = new Uint8Array(CELLS * CELLS);
    for (let i = 0; i < x.length; i++) {
      const j = (i + 1) % x.length;
      const [dx, dy] = [x[j] - x[i], y[j] - y[i]];
      const cells = Math.max(Math.abs(dx / this.step[0]), Math.abs(dy / this.step[1]));
      const steps = Math.ceil(2 * cells);
      for (let s = 0; s <= steps; s++) {
        const share = steps ? s / steps : 0;
        const [column, row] = [this.cell(x[i] + share * dx, 0), this.cell(y[i] + share * dy, 1)];
        for (let r = Math.max(0, row - 1); r <= Math.min(CELLS - 1, row + 1); r++) {
          const [from, to] = [Math.max(0, column - 1), Math.min(CELLS, column + 2)];
          found.fill(1, r * CELLS + from, r * CELLS + to);
        }
      }
    }
    return found;
  }
}

/** Mark (1) every row in a selection; what a part takes away is not in it. `index` is of the rows as they
    are seen; a part may have been drawn from elsewhere in space. */
function selectedRows(rows, parts, index) {
  const inside = new Uint8Array(rows.x.length);
  for (const part of parts) {
    const seen = isSamePlane(part.axes, index.axes) ? index : new RowIndex(rows, part.axes);
    seen.mark(part, inside);
  }
  return inside;
}

/** Where a row lies on the map. */
const placeIn = ({ x, y, z }, i) => (z ? [x[i], y[i], z[i]] : [x[i], y[i]]);

/** Whether what is right and up is the same; null on a flat map. */
const isSamePlane = (one, other) => String(one) === String(other);

/** How far rows lie along a direction, just as lore_core.Region adds it up. */
function columnAlong([a, b, c], { x, y, z }) {
  const column = new Float64Array(x.length);
  for (let i = 0; i < column.length; i++) column[i] = x[i] * a + y[i] * b + z[i] * c;
  return column;
}

/** Whether a place lies in a polygon, by the even-odd rule: just as lore_core.Region says. */
function contains(x, y, px, py) {
  let inside = false;
  for (let i = 0, n = x.length; i < n; i++) {
    const j = i + 1 === n ? 0 : i + 1;
    if (y[i] > py !== y[j] > py && px < x[i] + (py - y[i]) * ((x[j] - x[i]) / (y[j] - y[i]))) {
      inside = !inside;
    }
  }
  return inside;
}

/** A drawn line with fewer corners, none of which strays further than `far` from it. */
function simplified(points, far) {
  if (points.length < 3) return points;
  const [[x0, y0], [x1, y1]] = [points[0], points.at(-1)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  let worst = 0;
  let most = far;
  for (let i = 1; i < points.length - 1; i++) {
    const [x, y] = points[i];
    const off = length
      ? Math.abs((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / length
      : Math.hypot(x - x0, y - y0);
    if (off > most) [worst, most] = [i, off];
  }
  if (!worst) return [points[0], points.at(-1)];
  const left = simplified(points.slice(0, worst + 1), far);
  return [...left.slice(0, -1), ...simplified(points.slice(worst), far)];
}
