// Under the map: what is drawn on it, in words.

const many = (count) => count.toLocaleString("en");

/**
 * Say what is drawn.
 * @param drawn rows: whether they are drawn one by one; seen: how many; isVague: whether about so
 *   many; glimpses: with their image or words; isExact: at the bandwidth whose errors are known
 * @param chosen how many are selected or marked, in words
 * @param sample rows behind a field between two bandwidths, where that is not all of them
 */
function caption(scene, { rows, hasRows, seen, isVague, glimpses, chosen, isExact, sample }) {
  const words = [];
  const isSampled = !isExact && Boolean(sample);
  if (isSampled && !scene.field) {
    words.push(`a sample of ${many(sample)} of ${many(scene.total)} rows, while γ moves`);
  } else if (rows) {
    words.push(`all ${isVague ? "of about " : ""}${many(seen)} rows in sight are drawn`);
    // Of very many rows their own errors do not come along, of none between two bandwidths.
    if (scene.field && (!isExact || !scene.rowError)) words.push("in the field's colour at their place");
  } else if (hasRows && !seen) words.push("no row in sight");
  else words.push(`${many(scene.total)} rows as a field${hasRows ? "; zoom in to see each" : ""}`);
  if (isSampled && scene.field) words.push(`preview from a sample of ${many(sample)} rows`);
  if (glimpses) {
    const what = scene.glimpse === "image" ? "image" : "words";
    words.push(
      glimpses < seen ? `${many(glimpses)} with their ${what}, furthest off first` : `with their ${what}`,
    );
  }
  if (isExact && scene.rings.length) words.push(`${scene.rings.length} worst ringed`);
  if (scene.outside) words.push(`${many(scene.outside)} outside the frame`);
  if (chosen) words.push(chosen);
  return words.join(" · ");
}
