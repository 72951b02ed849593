// One landscape in a page: mount it, tell it what to show, take it away.

import { caption } from "./caption.js";
import { build, drawScale, labelNodes } from "./dom.js";
import { blend, decode } from "./fields.js";
import { canvasPainter } from "./canvas.js";
import { gammaBar } from "./gamma.js";
import { glPainter } from "./gl.js";
import { Glimpses, isNearEnough } from "./glimpses.js";
import { fieldLines, rowLines, showHover } from "./hover.js";
import { listen } from "./interact.js";
import { boxOf, placeLabels } from "./labels.js";
import { drawOverlay, regionAround } from "./overlay.js";
import { RowIndex } from "./rows.js";
import { View } from "./view.js";

/** Pixels² a row needs to be drawn over the field when one looks near. */
const ROOM = 200;
/** Pixels around the pointer in which a row is pointed at. */
const REACH = 9;
/** Rows drawn while the map moves. */
const MOST_MOVING = 150_000;
const REST = 160;
/** Milliseconds a row is pointed at until more is asked about it. */
const WONDER = 120;
/** Milliseconds until what the server was told and did not take is told again. */
const PATIENCE = 5000;
/** With one of these the reader may leave the page. */
const LEAVING = ["pointerdown", "click", "popstate"];
const SHOWN = 1;
const VIVID = 2;
const SELECTED = 4;
const KNOWN = 8;
const LONELY = 16;

/**
 * Mount a landscape.
 * @param root where it stands
 * @param mode () => "light" | "dark"
 * @param send (what, value): "view", "selection", "place", "row", as the reader does it
 */
export function mount(root, { mode, send }) {
  const parts = build(root);
  const { stage } = parts;
  const bar = gammaBar({
    move: preview,
    rest: (number) => {
      const before = scene;
      say("gamma", scene.gammas[number], () => scene !== before);
    },
  });
  parts.box.insertBefore(bar.node, stage);
  let painter = glPainter(parts.picture);
  painter ??= canvasPainter(parts.picture);
  let [scene, rows, index, view, look, labels] = [null, null, null, null, null, []];
  let [field, exact, known, flags, selected, selection] = [null, null, null, null, null, []];
  let [drawn, pointed, place, hot, tool, moving] = [null, -1, null, null, "pan", false];
  let [asked, resting, telling, wondering] = [0, 0, 0, 0];
  const details = new Map();
  const glimpses = new Glimpses(parts.glimpses, (lacking) => send("glimpses", lacking));
  const unheard = {};
  for (const what of LEAVING) window.addEventListener(what, leave, true);

  const shown = (i) => (flags ? (flags[i] & SHOWN) !== 0 : true);
  const redraw = () => { asked ||= requestAnimationFrame(paint); };

  function paint() {
    asked = 0;
    if (!scene || !view || !stage.clientWidth) return;
    const what = layers();
    const dense = parts.picture.width / view.width;
    painter.draw({
      window: view.window,
      scale: scene.scale,
      ...what,
      size: what.size * dense,
      chosen: selection.length > 0,
      most: moving ? MOST_MOVING : Infinity,
    });
    // Of another bandwidth other rows are the worst.
    const rings = field === exact ? scene.rings : [];
    const shownRegions = scene.regions.map((region) => ({
      ...region, chosen: scene.chosen === region.number, hot: hot === region.number,
    }));
    const at = pointed >= 0 ? [rows.x[pointed], rows.y[pointed]] : null;
    drawOverlay(parts.overlay, view, {
      look, shape: scene.shape, regions: shownRegions, rings, selection, drawn, pointed: at,
    });
    const taken = placeLabels(labels, view);
    const near = what.rows && scene.glimpse && isNearEnough(what.seen, view);
    if (!near) glimpses.hide();
    const glimpsed = near && glimpses.place(index.within(view.window, shown), {
      rows, scene, field, view, look, pointed, isExact: field === exact, selected,
      taken: [...taken, boxOf(parts.tools)], waits: moving,
    });
    parts.said.textContent = caption(scene, {
      ...what,
      hasRows: rows !== null,
      isVague: what.seen > MOST_MOVING,
      glimpses: glimpsed,
      selected: selected && selection.length ? selected.count : null,
      isExact: field === exact,
      sample: known?.sample,
    });
  }

  /** What is drawn at this distance: the field from afar, rows where there is room for each. */
  function layers() {
    const area = view.width * view.height;
    const seen = index ? countSeen() : 0;
    const near = seen > 0 && seen * ROOM < area;
    const alone = scene.layer === "rows";
    const size = Math.min(11, Math.max(1.6, 0.5 * Math.sqrt(area / Math.max(seen, 1))));
    const over = scene.layer === "both" || near;
    return {
      field: !alone,
      rows: index !== null && (alone || over),
      strength: near && scene.layer === "field" ? 0.5 : 1,
      size: alone || near ? size : Math.min(size, 5),
      seen,
      near,
    };
  }

  /** Rows of the picture in sight; of very many those in the cells that are touched. */
  function countSeen() {
    const most = index.count(view.window);
    if (!flags || most > MOST_MOVING) return most;
    return index.within(view.window, shown).length;
  }

  function resize() {
    const [w, h] = [stage.clientWidth, stage.clientHeight];
    if (!w || !view) return;
    const dense = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [parts.picture, parts.overlay]) {
      canvas.width = Math.round(w * dense);
      canvas.height = Math.round(h * dense);
    }
    view.resize(w, h);
    paint();
  }

  function mark() {
    if (!scene || !rows) return;
    selected = selection.length ? index.selected(selection) : null;
    const n = rows.x.length;
    flags = new Uint8Array(n);
    let count = 0;
    for (let i = 0; i < n; i++) {
      let flag = scene.bin === null || rows.bin[i] === scene.bin ? SHOWN : 0;
      if (!scene.rowError || !scene.inside || scene.inside[i]) flag |= VIVID;
      else if (scene.only) flag &= ~SHOWN;
      if (scene.rowError && field === exact) {
        flag |= scene.rowSupport[i] < scene.rowLeast ? KNOWN | LONELY : KNOWN;
      }
      if (selected && selected[i] && flag & SHOWN) {
        flag |= SELECTED;
        count++;
      }
      flags[i] = flag;
    }
    if (selected) selected.count = count;
    painter.setErrors(scene.rowError);
    painter.setFlags(flags);
  }

  function rest(what) {
    clearTimeout(resting);
    moving = what;
    if (what) resting = setTimeout(() => { moving = false; redraw(); }, REST);
    clearTimeout(telling);
    telling = setTimeout(tellView, 500);
    redraw();
  }

  function tellView() {
    clearTimeout(telling);
    telling = 0;
    send("view", view.saved);
  }

  /** Say what is left to say as a press begins, and nothing after a click that leaves the page: what
      is said between that and the next page makes Streamlit empty the next page. */
  function leave({ type, target }) {
    if (telling && type === "pointerdown") tellView();
    if (type === "click" && !target.closest("a")) return;
    clearTimeout(telling);
    if (type !== "pointerdown") Object.values(unheard).forEach(clearTimeout);
  }

  function hover(point, event) {
    if (!scene) return;
    const [x, y] = view.toMap(...point);
    const over = glimpses.at(point);
    const row = over >= 0 || !index ? over : index.nearest(x, y, REACH / view.scale, shown);
    const what = layers();
    const ring = row >= 0 && scene.worst.includes(row);
    pointed = row >= 0 && (what.rows || ring) ? row : -1;
    hot = pointed < 0 ? regionAround(scene.regions, x, y) : null;
    stage.classList.toggle("points", pointed >= 0 || hot !== null);
    tell(event ? point : null);
    redraw();
  }

  /** Say what is pointed at; of a row, as soon as it comes, all that is known. */
  function tell(point) {
    place = point;
    clearTimeout(wondering);
    if (!point) return showHover(parts.hover, [], [0, 0], stage);
    const write = (lines, image) => showHover(parts.hover, lines, point, stage, image);
    if (pointed < 0) return write(fieldLines(field, ...view.toMap(...point)));
    const detail = field === exact ? details.get(pointed) : null;
    const lines = detail?.lines ?? rowLines(field === exact ? scene : {}, rows, pointed);
    write(lines, detail?.image);
    if (!detail && field === exact) wondering = setTimeout(() => send("detail", pointed), WONDER);
  }

  function choose(number) {
    send("place", number);
  }

  /** Tell the server, and tell it again should the word be lost on its way. */
  function say(what, value, isTaken, pause = PATIENCE) {
    send(what, value);
    clearTimeout(unheard[what]);
    unheard[what] = setTimeout(() => {
      if (!isTaken()) say(what, value, isTaken, 2 * pause);
    }, pause);
  }

  function select(parts_) {
    selection = parts_;
    mark();
    say("selection", parts_, () => isSame(scene.selection, parts_) || selection !== parts_);
    redraw();
  }

  const on = {
    view: (isMoving) => rest(isMoving),
    point: hover,
    leave: () => {
      pointed = -1;
      hot = null;
      tell(null);
      redraw();
    },
    drawing: (line) => {
      drawn = line;
      parts.hover.hidden = true;
      redraw();
    },
    select: (corners, sign) => {
      if (!scene.rows) return;
      const map = corners.map(([px, py]) => view.toMap(px, py).map((v) => +v.toPrecision(6)));
      const part = { sign: sign || 1, x: map.map((c) => c[0]), y: map.map((c) => c[1]) };
      select(sign ? [...selection, part] : [part]);
    },
    click: (point) => {
      hover(point, null);
      if (pointed >= 0) send("row", pointed);
      else if (hot !== null) choose(hot);
    },
    escape: () => (selection.length ? select([]) : stage.blur()),
  };

  function take(name) {
    tool = name;
    for (const each of ["pan", "lasso", "box"]) {
      parts.buttons[each].setAttribute("aria-pressed", each === name);
    }
    stage.classList.toggle("draws", name !== "pan");
  }
  for (const name of ["pan", "lasso", "box"]) parts.buttons[name].onclick = () => take(name);
  const zoom = (factor) => () => {
    view.zoomAt(factor, view.width / 2, view.height / 2);
    rest(true);
  };
  parts.buttons.in.onclick = zoom(1.5);
  parts.buttons.out.onclick = zoom(1 / 1.5);
  parts.buttons.reset.onclick = () => {
    view.reset();
    rest(true);
  };
  take("pan");
  const watch = new ResizeObserver(resize);
  watch.observe(stage);

  function dress() {
    const name = mode();
    look = { ...scene.looks[name], colors: scene[name] };
    const share = (color) => color.match(/\w\w/g).map((part) => parseInt(part, 16) / 255);
    painter.setLook({
      colors: look.colors,
      paper: share(look.paper),
      ink: share(look.line),
      quiet: share(look.quiet),
    });
    for (const key of ["ink", "paper", "quiet", "grid", "accent"]) {
      parts.box.style.setProperty(`--${key === "grid" ? "line" : key}`, look[key]);
    }
    drawScale(parts.scale, scene.scale, look.colors);
  }

  /** Show the field between two bandwidths, from those that are there. */
  function preview(position) {
    if (!known || !known.fields.size) return;
    const numbers = [...known.fields.keys()].sort((a, b) => a - b);
    const low = numbers.findLast((k) => k <= position) ?? numbers[0];
    const high = numbers.find((k) => k >= position) ?? numbers.at(-1);
    const share = high > low ? (position - low) / (high - low) : 0;
    const [one, other] = [known.fields.get(low), known.fields.get(high)];
    const was = field;
    const near = share < 0.5 ? one : other;
    field = { ...near, vivid: exact.vivid, values: blend(one.values, other.values, share) };
    painter.setField(field);
    if (was === exact && scene.rowError) mark();
    redraw();
  }

  const state = () => ({
    view, scene, rows, field, exact, known, selection, selected, labels, glimpses: glimpses.placed,
  });
  // For who looks on: a test, a benchmark.
  Object.defineProperty(stage, "landscape", { get: state });

  return {
    /** Where a page puts controls and words of its own: beside the slider, and below the map. */
    head: bar.node,
    foot: parts.foot,
    /** Show a scene; the view stays unless the map is another one. */
    update(next) {
      const before = scene;
      scene = next;
      details.clear();
      stage.setAttribute("aria-label", next.alt);
      exact = {
        ...next.field, error: next.error, support: next.support, vivid: next.vivid,
        values: decode({ error: next.error, scale: next.field.scale }),
      };
      if (!view) {
        view = new View(next.frame);
        view.saved = next.view;
        listen(stage, view, on, () => tool);
      } else if (before.map !== next.map) {
        view.reframe(next.frame);
        view.reset();
      }
      if (!before || !isSame(before.selection, next.selection)) {
        selection = next.selection;
      }
      dress();
      // Without rows there is nothing to select.
      for (const name of ["lasso", "box"]) parts.buttons[name].hidden = !next.rows;
      if (bar.update(next, look)) field = exact;
      painter.setField(field ?? exact);
      labels = labelNodes(next, choose);
      parts.labels.replaceChildren(...labels.map((label) => label.node));
      mark();
      resize();
    },
    /** Take the rows: once for each map and set of bins. */
    setRows(next) {
      if (rows && rows.key === next.key) return;
      rows = next;
      index = new RowIndex(rows.x, rows.y);
      glimpses.forget();
      painter.setRows(rows);
      mark();
      redraw();
    },
    /** Take fields and a curve for the slider, as far as they are there. */
    setPreview(next) {
      known = next;
      bar.know(next);
    },
    /** Take images or words of rows; null where none came. */
    setGlimpses(next) {
      if (next && next.rows !== rows?.key) return;
      glimpses.take(next?.glimpses);
      if (next) redraw();
    },
    /** Take what is known of a row. */
    setDetail(detail) {
      if (!scene || detail.gamma !== scene.gamma) return;
      details.set(detail.row, detail);
      if (detail.row === pointed) tell(place);
    },
    /** The theme changed. */
    redress() {
      if (!scene) return;
      dress();
      redraw();
    },
    get state() {
      return state();
    },
    unmount() {
      for (const what of LEAVING) window.removeEventListener(what, leave, true);
      watch.disconnect();
      bar.stop();
      cancelAnimationFrame(asked);
      clearTimeout(telling);
      clearTimeout(resting);
      clearTimeout(wondering);
      Object.values(unheard).forEach(clearTimeout);
      painter.free();
      parts.box.remove();
    },
  };
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
