// What the painter knows of a row, as bits.

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
