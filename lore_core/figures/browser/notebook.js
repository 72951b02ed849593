// The landscape as a notebook's widget, by anywidget.

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Whether the notebook is dark: JupyterLab and VS Code say so on the body. */
function isDark() {
  const { jpThemeLight } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  return (
    document.body.classList.contains("vscode-dark") ||
    window.matchMedia("(prefers-color-scheme: dark)").matches
  );
}

export default {
  render({ model, el }) {
    const host = document.createElement("div");
    el.append(host);
    const joined = showStill(host.attachShadow({ mode: "open" }), {
      rows: bytesOf(model.get("rows")),
      layers: model.get("layers").map(({ name, note, scene, fields }) => ({
        name, note, scene: bytesOf(scene), fields: bytesOf(fields),
      })),
      mode: () => (isDark() ? "dark" : "light"),
      send(what, value) {
        if (what !== "gamma" && what !== "selection") return;
        model.set(what, value);
        model.save_changes();
      },
    });
    return () => joined.leave();
  },
};
