// The report's landscape: everything it shows is in the page.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
document.documentElement.classList.add("scripted");
const packedLayers = JSON.parse(document.getElementById("landscape-data").textContent);
const host = document.getElementById("landscape");
const joined = showStill(host.attachShadow({ mode: "open" }), {
  layers: packedLayers.map((layer) => ({
    ...layer, scene: fromBase64(layer.scene), fields: fromBase64(layer.fields),
  })),
  mode: () => (dark.matches ? "dark" : "light"),
});
dark.addEventListener("change", () => joined.map.redress());
