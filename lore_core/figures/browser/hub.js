// What arrives in one part of a page for the landscapes in it: rows and previews, by their names.

import { decode } from "./fields.js";
import { mount } from "./landscape.js";
import { unpack } from "./protocol.js";

const maps = new Set();
const sets = new Map();
const previews = new Map();
/** Sets of rows, and previews, that are kept: those shown, and those before. */
const MOST_SETS = 2;
const MOST_PREVIEWS = 4;
/** Milliseconds after which what was asked for is asked for again. */
const OVERDUE = 3000;
let ask = null;
let overdue = 0;

/** Hand on what Python packed: rows, or a part of a preview. */
export function deliver(bytes) {
  const pack = unpack(bytes);
  if (pack.preview) takePreview(pack);
  else keep(sets, pack.key, pack, MOST_SETS);
  for (const map of maps) supply(map);
  wish();
}

/** Let what is lacking be asked for: `send({key, known, near})`. */
export function provideBy(send) {
  ask = send;
  wish();
}

/** Mount a landscape that takes packed scenes. */
export function join(root, options) {
  const map = mount(root, options);
  maps.add(map);
  return {
    map,
    show(bytes) {
      map.update(unpack(bytes));
      supply(map);
      wish();
    },
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

/** Ask for what the shown landscape lacks, and again if nothing comes. */
function wish() {
  clearTimeout(overdue);
  const scene = [...maps].map((map) => map.state.scene).find((shown) => shown?.preview);
  if (!ask || !scene) return;
  const known = previews.get(scene.preview);
  const has = known ? [...known.fields.keys()] : [];
  if (known?.isAll && has.length >= scene.gammas.length) return;
  overdue = setTimeout(wish, OVERDUE);
  ask({ key: scene.preview, known: has, near: scene.gamma });
}
