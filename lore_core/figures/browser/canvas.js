// Field and rows on a plain 2-D canvas, where there is no WebGL2: the same picture, fewer rows.

const MAX_ROWS = 60_000;

/** Draw on a canvas without WebGL: the same methods as glPainter. */
function canvasPainter(canvas) {
  const pen = canvas.getContext("2d");
  const small = document.createElement("canvas");
  let look = null;
  let [field, against] = [null, null];
  let rows = { x: [], y: [] };
  let [ordered, order] = [null, null];
  let errors = null;
  let flags = null;

  const css = ([r, g, b], alpha) => `rgba(${r},${g},${b},${alpha})`;
  const isVivid = (node, R, { vivid }) => {
    const side = Math.sqrt(vivid.length);
    const at = (k) => Math.round((k / (R - 1)) * (side - 1));
    return vivid[at(Math.floor(node / R)) * side + at(node % R)] > 127;
  };
  const drawField = (picture, place, field) => {
    const R = small.width = small.height = field.resolution;
    const colors = new Uint8ClampedArray(painted(field.values, picture.scale, look.colors).buffer);
    for (let node = 0; node < R * R; node++) {
      colors[4 * node + 3] *= picture.strength * (isVivid(node, R, field) ? 1 : 0.38);
    }
    small.getContext("2d").putImageData(new ImageData(colors, R, R), 0, 0);
    const half = [field.x, field.y].map(([low, high]) => (high - low) / (R - 1) / 2);
    const [x0, y1] = place(field.x[0] - half[0], field.y[0] - half[1]);
    const [x1, y0] = place(field.x[1] + half[0], field.y[1] + half[1]);
    pen.imageSmoothingEnabled = false;
    // The first row of a field is its lowest.
    pen.translate(0, y0 + y1);
    pen.scale(1, -1);
    pen.drawImage(small, x0, y0, x1 - x0, y1 - y0);
  };
  const at = (i) => placeIn(rows, i);
  const drawRows = (picture, place) => {
    const { space } = picture;
    const n = Math.min(rows.x.length, MAX_ROWS, picture.most);
    if (space && ordered !== String([n, space.toward])) {
      // What is in front is drawn over what is behind.
      ordered = String([n, space.toward]);
      const near = Float64Array.from({ length: n }, (_, i) => along(space.toward, at(i)));
      order = Uint32Array.from({ length: n }, (_, i) => i).sort((i, j) => near[i] - near[j]);
    }
    const quiet = look.quiet.map((share) => share * 255);
    for (let k = 0; k < n; k++) {
      const i = space ? order[k] : k;
      if (!(flags[i] & 1) || (picture.chosen > 1 && !(flags[i] & 4))) continue;
      const [px, py] = place(...(space ? space.axes.map((axis) => along(axis, at(i))) : at(i)));
      if (px < 0 || py < 0 || px > canvas.width || py > canvas.height) continue;
      const known = flags[i] & 8 && !(flags[i] & 16);
      const faint = picture.chosen ? (flags[i] & 4 ? 1 : 0.18) : flags[i] & 2 ? 0.95 : 0.5;
      const color = known ? colorOf(errors[i] / 32767, picture.scale, look.colors) : quiet;
      pen.fillStyle = css(color, faint);
      pen.fillRect(px - picture.size / 2, py - picture.size / 2, picture.size, picture.size);
    }
  };
  return {
    setLook: (next) => { look = next; },
    setField: (next) => { field = next; },
    setAgainst: (next) => { against = next; },
    setRows: (next) => { [rows, ordered] = [next, null]; },
    setErrors: (next) => { errors = next; },
    setFlags: (next) => { flags = next; },
    draw(picture) {
      pen.clearRect(0, 0, canvas.width, canvas.height);
      if (!look || !(field || picture.space)) return;
      const [x0, y0, x1, y1] = picture.window;
      const place = (x, y) => [
        ((x - x0) / (x1 - x0)) * canvas.width,
        (1 - (y - y0) / (y1 - y0)) * canvas.height,
      ];
      const sides = against ? [[0, picture.split, field], [picture.split, 1, against]] : [[0, 1, field]];
      for (const [from, to, shown] of picture.field ? sides : []) {
        pen.save();
        pen.beginPath();
        pen.rect(from * canvas.width, 0, (to - from) * canvas.width, canvas.height);
        pen.clip();
        drawField(picture, place, shown);
        pen.restore();
      }
      if (picture.rows && flags) drawRows(picture, place);
    },
    free: () => {},
  };
}

/** Leave out pictures that are the one before, as long as the painter was told nothing since. */
function sparing(painter) {
  let [last, sampled] = [null, null];
  const told = Object.entries(painter).map(([name, tell]) => [
    name,
    (...given) => {
      last = null;
      return tell(...given);
    },
  ]);
  return {
    ...Object.fromEntries(told),
    painted: 0,
    draw(picture) {
      const now = JSON.stringify({ ...picture, sampled: null });
      if (now === last && sampled === picture.sampled) return;
      [last, sampled] = [now, picture.sampled];
      this.painted += 1;
      painter.draw(picture);
    },
  };
}
