// A landscape whose layers and bandwidths are all there: it answers the hand without a server.

/**
 * Show layers under a root.
 * @param rows packed rows, or null
 * @param layers [{name, note, scene, fields}], packed
 * @param send (what, value): told what the reader does
 */
function showStill(root, { rows = null, layers, mode, send = () => {} }) {
  if (rows) deliver(rows);
  const parts = layers.map(({ name, note, scene, fields }) => ({
    name, note, scene: unpack(scene), fields: unpack(fields),
  }));
  layers.forEach((layer) => deliver(layer.fields));
  let [shown, gamma, chosen] = [parts[0], parts[0].scene.gamma, null];
  const choice = element("select", { "aria-label": "Rows" });
  const note = element("div", {});
  parts.forEach(({ name }, k) => choice.add(new Option(name, k)));
  choice.onchange = () => {
    shown = parts[choice.value];
    show();
  };
  const joined = join(root, {
    mode,
    send(what, value) {
      if (what === "gamma") gamma = value;
      else if (what === "place") chosen = chosen === value ? null : value;
      if (what !== "view") show();
      send(what, value);
    },
  });
  joined.map.head.append(choice);
  choice.hidden = parts.length < 2;
  joined.map.foot.append(note);

  function show() {
    const { scene, fields } = shown;
    const k = scene.gammas.indexOf(gamma);
    const isFirst = gamma === scene.gamma;
    joined.showScene({
      ...scene,
      gamma,
      chosen,
      field: { ...scene.field, ...fields.fields[k] },
      error: fields[`error${k}`],
      support: fields[`support${k}`],
      rings: isFirst ? scene.rings : [],
      rowError: isFirst ? scene.rowError : null,
      selection: joined.map.state.selection,
    });
    note.textContent = shown.note;
  }
  show();
  return joined;
}
