// While γ is dragged: how much of the data is off by how much, in a corner of the map.

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
