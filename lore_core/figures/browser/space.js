// Rows of a map in space: what is in front, and their errors between two bandwidths.

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
