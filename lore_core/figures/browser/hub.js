// What arrives in one part of a page for the landscapes in it: rows and previews, by their names.

import { decode } from "./fields.js";
import { mount } from "./landscape.js";
import { unpack } from "./protocol.js";

const maps = new Set();
const sets = new Map();
const previews = new Map();
/** Sets of rows, and previews, that are kept: those shown, and those before. */
const MOST_SETS = 2;
const MOST_PREVIEWS = 8;
/** Milliseconds after which the same is asked for again. */
const OVERDUE = 2000;
/** Milliseconds after the reader did something, or left by a link, in which nothing is asked: the
    server would answer both at once, and one may be lost. */
const ACTING = 1500;
const LEAVING = 5000;
let ask = null;
let next = 0;
let last = "";
/** The row that is pointed at, until what is known of it has come. */
let row = null;
let quiet = 0;
const hold = (event) => {
  const leaves = event.type === "click" && event.composedPath().some((node) => node.nodeName === "A");
  quiet = Math.max(quiet, performance.now() + (leaves ? LEAVING : ACTING));
};
for (const type of ["click", "keydown", "pointerdown"]) document.addEventListener(type, hold, true);

/** Hand on what Python packed: rows, or a part of a preview. */
export function deliver(bytes) {
  const pack = unpack(bytes);
  if (pack.detail) {
    if (pack.detail.row === row) row = null;
    for (const map of maps) map.setDetail(pack.detail);
  }
  if (pack.fields) takePreview(pack);
  else keep(sets, pack.key, pack, MOST_SETS);
  for (const map of maps) supply(map);
  wish();
}

/** Let what is lacking be asked for: `send({key, known, near, row})`. */
export function provideBy(send) {
  ask = send;
  wish();
}

/** Mount a landscape that takes packed scenes. */
export function join(root, options) {
  const map = mount(root, {
    ...options,
    send(what, value) {
      if (what !== "detail") return options.send(what, value);
      row = value;
      wish();
    },
  });
  maps.add(map);
  const showScene = (scene) => {
    map.update(scene);
    supply(map);
    wish();
  };
  return {
    map,
    showScene,
    show: (bytes) => showScene(unpack(bytes)),
    leave() {
      maps.delete(map);
      map.unmount();
    },
  };
}

function keep(store, key, value, most) {
  store.delete(key);
  store.set(key, value);
  while (store.size > most) store.delete(store.keys().next().value);
}

function takePreview(pack) {
  const known = previews.get(pack.preview) ?? { fields: new Map() };
  for (const [number, field] of Object.entries(pack.fields)) {
    const error = pack[`error${number}`];
    known.fields.set(Number(number), {
      ...field, error, values: decode({ error, scale: field.scale }),
    });
  }
  known.curve = pack.curve ?? known.curve;
  known.band = pack.band ?? known.band;
  known.isAll = pack.isAll;
  keep(previews, pack.preview, known, MOST_PREVIEWS);
}

function supply(map) {
  const { scene } = map.state;
  if (!scene) return;
  const rows = sets.get(scene.rows);
  if (rows) map.setRows(rows);
  map.setPreview(previews.get(scene.preview) ?? null);
}

/** Ask for what the shown landscape lacks: fields and rows at once, the curve now and then. */
function wish() {
  clearTimeout(next);
  const scene = [...maps].map((map) => map.state.scene).find((shown) => shown?.preview);
  if (!ask || !scene) return;
  const known = previews.get(scene.preview);
  const has = known ? [...known.fields.keys()] : [];
  const isFull = has.length >= scene.gammas.length;
  if (known?.isAll && isFull && row === null) return;
  const asked = JSON.stringify([scene.preview, has, row]);
  const busy = () => quiet - performance.now();
  next = setTimeout(() => {
    if (busy() > 0) return wish();
    last = asked;
    ask({ key: scene.preview, known: has, near: scene.gamma, row });
    wish();
  }, Math.max(asked === last ? OVERDUE : 0, busy()));
}
