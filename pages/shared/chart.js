// A chart as a keyed component: the element stays, and so does what the reader zoomed.
const charts = new WeakMap();
/** Charts that were on the page a moment ago, by name. Where one run of the page overtakes another,
    Streamlit may take a component away and bring it back. */
const left = new Map();
/** Milliseconds until one of them is given up. */
const MOMENT = 4000;
/** Milliseconds without a move until the server is told what is seen. */
const CALM = 300;
const CORNERS = "M7 14H5v5h5v-2H7zM5 10h2V7h3V5H5zM17 17h-3v2h5v-5h-2zM14 5v2h3v3h2V5z";

const scripts = {};
/** Plotly, loaded when the first chart is drawn: the whole of it for charts in space alone. */
function loadPlotly(data) {
  const source = data.some(({ type }) => IN_SPACE.includes(type)) ? WHOLE : SCRIPT;
  scripts[source] ??= new Promise((resolve, reject) => {
    const tag = document.createElement("script");
    tag.onload = () => resolve(globalThis.Plotly);
    tag.onerror = () => {
      delete scripts[source];
      tag.remove();
      reject(new Error("what draws charts could not be loaded; reload the page"));
    };
    tag.src = source;
    document.head.append(tag);
  });
  return scripts[source];
}

const post = (address, asked) =>
  fetch(address, { method: "POST", body: JSON.stringify(asked) }).catch(() => null);

const modeAround = (element) => {
  const ground = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  const [r, g, b] = ground.match(/\w\w/g).map((part) => parseInt(part, 16));
  return 2 * r + 3 * g + b < 3 * 255 ? "dark" : "light";
};
const nameOf = (root) => root.closest("[class*=st-key-]").className.match(/st-key-\S+/)[0];

class Chart {
  constructor() {
    this.box = document.createElement("div");
    this.box.setAttribute("role", "figure");
    this.turn = 0;
    this.seen = {};
    this.room = new ResizeObserver(() => this.fit());
    this.box.addEventListener("fullscreenchange", () => this.stretch());
  }

  /** Draw what was told in the page's theme, in place of what is drawn. */
  async show(told) {
    const turn = ++this.turn;
    const { ask, mode, settings } = told;
    this.told = told;
    this.box.setAttribute("aria-label", told.alt);
    this.height ??= told.figure.layout.height;
    this.stretch();
    const wanted = modeAround(this.box);
    const answer = wanted === mode ? null : await post(ask, { mode: wanted });
    const figure = answer?.ok ? JSON.parse(await answer.text()) : told.figure;
    const plotly = await loadPlotly(figure.data);
    // Chart after chart, and none at once with the script: the page answers between them.
    await new Promise((done) => setTimeout(done));
    if (turn !== this.turn) return;
    if (this.drawn && this.plotly !== plotly) {
      this.plotly.purge(this.box);
      this.drawn = false;
    }
    this.plotly = plotly;
    this.forget(figure.layout.uirevision);
    this.height = figure.layout.height;
    this.box.style.width = figure.layout.width ? `${figure.layout.width}px` : "";
    this.stretch();
    await plotly.react(this.box, figure.data, figure.layout, this.settingsOf(settings));
    if (!this.drawn) this.listen();
  }

  listen() {
    this.drawn = true;
    this.room.observe(this.box);
    this.box.on("plotly_click", ({ points }) => this.told.picks && this.pick(points[0].customdata));
    this.box.on("plotly_relayout", (change) => this.note(Object.keys(change)));
    this.box.on("plotly_restyle", () => this.note(["hidden"]));
  }

  /** Note what the reader changed of what is seen, for exports. */
  note(changed) {
    const { data, layout } = this.box;
    const before = JSON.stringify(this.seen);
    for (const name of changed) {
      const axis = name.match(/^([xy]axis\d*)\.(?:range|autorange)/)?.[1];
      if (axis) (this.seen.axes ??= {})[axis] = layout[axis].autorange ? null : layout[axis].range;
      if (name.startsWith("scene.camera")) this.seen.camera = layout.scene.camera;
    }
    const hidden = data.flatMap((trace, at) => (trace.visible === "legendonly" ? [at] : []));
    if (hidden.length || this.seen.hidden) this.seen.hidden = hidden;
    if (JSON.stringify(this.seen) === before) return;
    clearTimeout(this.calm);
    this.calm = setTimeout(() => post(this.told.ask, { seen: this.seen }), CALM);
  }

  /** Of other axes nothing was seen yet. */
  forget(revision) {
    if (revision !== this.revision) this.seen = {};
    this.revision = revision;
  }

  /** Plotly's settings, as long as they are the same: of others it draws all anew. */
  settingsOf(told) {
    const text = JSON.stringify(told);
    if (text === this.settled) return this.settings;
    const click = () =>
      document.fullscreenElement ? document.exitFullscreen() : this.box.requestFullscreen();
    const icon = { width: 24, height: 24, path: CORNERS };
    const button = { name: "fullscreen", title: "Full screen", icon, click };
    this.settled = text;
    this.settings = { ...told, modeBarButtonsToAdd: told.staticPlot ? [] : [button] };
    return this.settings;
  }

  stretch() {
    const isWhole = document.fullscreenElement === this.box;
    this.box.style.height = isWhole ? "100vh" : `${this.height}px`;
  }

  /** Be as wide as the page has room for. */
  fit() {
    const isShown = this.drawn && this.box.offsetWidth > 0;
    if (isShown && !this.box.layout.width) this.plotly.Plots.resize(this.box);
  }

  stop() {
    this.turn += 1;
    clearTimeout(this.calm);
    this.room.disconnect();
    if (this.drawn) this.plotly.purge(this.box);
  }
}

const giveUp = (name) => takeBack(name)?.stop();

function takeBack(name) {
  const { chart, waiting } = left.get(name) ?? {};
  clearTimeout(waiting);
  left.delete(name);
  return chart;
}

export default async ({ data, parentElement: root, setTriggerValue }) => {
  const name = nameOf(root);
  if (!charts.has(root)) {
    charts.set(root, takeBack(name) ?? new Chart());
    root.append(charts.get(root).box);
  }
  const chart = charts.get(root);
  chart.pick = (number) => setTriggerValue("picked", number);
  const turn = chart.turn + 1;
  await chart.show(JSON.parse(new TextDecoder().decode(data)));
  return () => {
    // Streamlit also ends a call that a later one for the same element has overtaken.
    if (chart.turn !== turn || !charts.delete(root)) return;
    giveUp(name);
    left.set(name, { chart, waiting: setTimeout(giveUp, MOMENT, name) });
  };
};
