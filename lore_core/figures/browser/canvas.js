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
  const isVivid = (node, R, field) => {
    const side = Math.sqrt(field.vivid.length);
    const at = (k) => Math.round((k / (R - 1)) * (side - 1));
    return field.vivid[at(Math.floor(node / R)) * side + at(node % R)] > 127;
  };
  const drawField = (picture, place, field) => {
    const R = field.resolution;
    small.width = small.height = R;
    const brush = small.getContext("2d");
    const image = brush.createImageData(R, R);
    for (let node = 0; node < R * R; node++) {
      const error = field.values[node];
      if (error === NOTHING) continue;
      const at = 4 * ((R - 1 - Math.floor(node / R)) * R + (node % R));
      image.data.set(colorOf(error, picture.scale, look.colors), at);
      image.data[at + 3] = 255 * picture.strength * (isVivid(node, R, field) ? 1 : 0.38);
    }
    brush.putImageData(image, 0, 0);
    const half = [0, 1].map((k) => {
      const [low, high] = k ? field.y : field.x;
      return (high - low) / (R - 1) / 2;
    });
    const [x0, y1] = place(field.x[0] - half[0], field.y[0] - half[1]);
    const [x1, y0] = place(field.x[1] + half[0], field.y[1] + half[1]);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, x0, y0, x1 - x0, y1 - y0);
  };
  const at = (i) => (rows.z ? [rows.x[i], rows.y[i], rows.z[i]] : [rows.x[i], rows.y[i]]);
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
