// What is said under the map of what is drawn on it, and of what is pointed at.

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
  if (scene.field && scene.vivid.length > 1) words.push("pale: not significant");
  if (scene.field && !rows) words.push("blank: too few neighbours");
  if (scene.outside) words.push(`${many(scene.outside)} outside the frame`);
  if (chosen) words.push(chosen);
  return words.join(" · ");
}

const points = (error) =>
  `${error >= 0 ? "+" : "−"}${Math.abs(error * 100).toFixed(1)} points`;

/** n_eff in round numbers. */
function about(n) {
  return n < 9.95 ? n.toFixed(1) : Number(n.toPrecision(3)).toLocaleString("en");
}

/** Lines about a row: what it is, what was promised, what came, how far it is off around it. */
function rowLines(scene, rows, i) {
  const right = rows.outcome[i] === 1;
  const lines = [`row ${i}`];
  if (rows.predicted) {
    const [said, true_] = [rows.predicted[i], rows.label[i]].map((k) => rows.classes[k]);
    lines[0] += `: ${said} ${said === true_ ? "(right)" : `(wrong, true ${true_})`}`;
  }
  const outcome = rows.predicted ? "" : right ? ", occurred" : ", did not occur";
  lines.push(`confidence ${((rows.confidence[i] / 65535) * 100).toFixed(1)} %${outcome}`);
  if (scene.rowError && !scene.colored) {
    const n = supportOf(scene.rowSupport[i], 65535, scene.rowLogSupport);
    lines.push(`local error ${points(scene.rowError[i] / 32767)}, ${about(n)} effective neighbours`);
  }
  return lines;
}

/** Lines about a place of the field that has no row under the pointer. */
function fieldLines(field, x, y) {
  const node = nodeAt(field, x, y);
  if (node < 0) return [];
  if (!field.support) {
    // Between two bandwidths.
    const error = field.values[node];
    return error === NOTHING ? [] : [`local error about ${points(error)}`];
  }
  if (field.support[node] === 0) return [];
  const n = about(supportOf(field.support[node], 255, field.logSupport));
  if (field.error[node] === -128) {
    return [`hidden: about ${n} effective neighbours, fewer than the ${field.least} needed`];
  }
  return [`local error ${points((field.error[node] / 127) * field.scale)}`, `about ${n} effective neighbours`];
}

/** Lines about a place of two fields, each with its name. */
function pairLines(fields, names, [x, y]) {
  return fields.flatMap((field, k) => {
    const [first, ...others] = fieldLines(field, x, y);
    return first ? [`${names[k]}: ${first}`, ...others] : [];
  });
}

/** Write lines into the box beside the pointer, the first one set off; none hides it. */
function showHover(box, lines, [px, py], stage, image) {
  box.hidden = lines.length === 0;
  if (box.hidden) return;
  box.replaceChildren();
  if (image) box.append(element("img", { src: image, alt: "" }));
  lines.forEach((line, k) => box.append(element(k ? "div" : "b", {}, line)));
  const [w, h] = [box.offsetWidth, box.offsetHeight];
  const left = px + 16 + w > stage.clientWidth ? px - w - 12 : px + 16;
  const top = py + 16 + h > stage.clientHeight ? py - h - 12 : py + 16;
  box.style.transform = `translate(${Math.max(2, left)}px, ${Math.max(2, top)}px)`;
  box.style.left = box.style.top = "0";
}
