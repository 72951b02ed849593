// What Python packed: one buffer of arrays, then what they are as JSON, then its length. Errors of
// fields, decoded and blended between two bandwidths; what painters know of a row, as bits.

const KINDS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f4: Float32Array,
};

/** Read what packing.py wrote: the header, with every array under its name. */
function unpack(bytes) {
  const { buffer } = bytes.slice();
  const end = buffer.byteLength - 4;
  const length = new DataView(buffer).getUint32(end, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, end - length, length));
  const { arrays, ...header } = JSON.parse(text);
  for (const [name, [kind, offset, size]] of Object.entries(arrays)) {
    header[name] = new KINDS[kind](buffer, offset, size);
  }
  return header;
}

/** Bytes of a text in base64. */
function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** Stands for a node without a value. */
const NOTHING = 9;
const EMPTY = -128;

/** A field with the signed errors of its nodes as numbers. */
function fieldOf(header, error, more) {
  const step = header.scale / 127;
  const values = Float32Array.from(error, (code) => (code === EMPTY ? NOTHING : code * step));
  return { ...header, ...more, error, values };
}

/** Nodes between two fields; a node that one of them lacks goes with the nearer. */
function blend(one, other, share) {
  if (share <= 0) return one;
  if (share >= 1) return other;
  const near = share < 0.5 ? one : other;
  const mixed = new Float32Array(one.length);
  for (let i = 0; i < mixed.length; i++) {
    const a = one[i];
    const b = other[i];
    mixed[i] = a === NOTHING || b === NOTHING ? near[i] : a + share * (b - a);
  }
  return mixed;
}

/** The field at a position between the numbers of those that are there. */
function fieldBetween(fields, position) {
  const numbers = [...fields.keys()].sort((a, b) => a - b);
  const low = numbers.findLast((k) => k <= position) ?? numbers[0];
  const high = numbers.find((k) => k >= position) ?? numbers.at(-1);
  const share = high > low ? (position - low) / (high - low) : 0;
  const [one, other] = [fields.get(low), fields.get(high)];
  const lce = other.lce && one.lce?.map((value, k) => value + share * (other.lce[k] - value));
  return { ...(share < 0.5 ? one : other), lce, values: blend(one.values, other.values, share) };
}

/** n_eff behind a coded support; 0 where no row is near. */
function supportOf(code, steps, logSupport) {
  return code === 0 ? 0 : Math.expm1(((code - 1) / (steps - 1)) * logSupport);
}

/** Number of the node nearest to a place, or -1 outside the field. */
function nodeAt(field, x, y) {
  const R = field.resolution;
  const column = Math.round(((x - field.x[0]) / (field.x[1] - field.x[0])) * (R - 1));
  const row = Math.round(((y - field.y[0]) / (field.y[1] - field.y[0])) * (R - 1));
  return column < 0 || row < 0 || column >= R || row >= R ? -1 : row * R + column;
}

/** Red, green and blue of an error. */
function colorOf(error, scale, colors) {
  const value = scale.signed ? error : Math.abs(error);
  const low = scale.signed ? -scale.limit : 0;
  const share = Math.min(1, Math.max(0, (value - low) / (scale.limit - low)));
  const at = 3 * Math.round(255 * share);
  return [colors[at], colors[at + 1], colors[at + 2]];
}

/** Colours of a field's nodes, four bytes each; all 0 where there is no value. */
function painted(values, scale, colors) {
  const bytes = new Uint8Array(4 * values.length);
  for (let i = 0; i < values.length; i++) {
    if (values[i] === NOTHING) continue;
    const color = colorOf(values[i], scale, colors);
    for (let k = 0; k < 3; k++) bytes[4 * i + k] = color[k];
    bytes[4 * i + 3] = 255;
  }
  return bytes;
}

const SHOWN = 1;
const VIVID = 2;
const SELECTED = 4;
const KNOWN = 8;
const LONELY = 16;

/** Bits of every row; its own error is `isKnown` where it is that of the shown field. */
function flagsOf(scene, rows, selected, isKnown) {
  const flags = new Uint8Array(rows.x.length);
  for (let i = 0; i < flags.length; i++) {
    let flag = scene.bin === null || rows.bin[i] === scene.bin ? SHOWN : 0;
    if (!scene.rowError || !scene.inside || scene.inside[i]) flag |= VIVID;
    else if (scene.only) flag &= ~SHOWN;
    // In space there is no field that would tell the colours between two bandwidths.
    if (scene.rowError && (isKnown || rows.z)) {
      flag |= scene.rowSupport[i] < scene.rowLeast ? KNOWN | LONELY : KNOWN;
    }
    if (selected && selected[i] && flag & SHOWN) flag |= SELECTED;
    flags[i] = flag;
  }
  return flags;
}

/** Marks (0, 1) of n rows that came as bits. */
function fromBits(bits, n) {
  const marks = new Uint8Array(n);
  for (let i = 0; i < n; i++) marks[i] = (bits[i >> 3] >> (i & 7)) & 1;
  return marks;
}
