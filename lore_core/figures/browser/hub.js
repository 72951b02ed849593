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
/** Milliseconds until one asks again after no answer. */
const BREATHER = 2000;
let address = null;
let isAsking = false;

/** Hand on what Python packed: rows, or a part of a preview. */
export function deliver(bytes) {
  const pack = unpack(bytes);
  if (pack.fields) takePreview(pack);
  else keep(sets, pack.key, pack, MOST_SETS);
  for (const map of maps) supply(map);
}

/** Let what is lacking be asked for at an address; null: no more. */
export function provideAt(url) {
  address = url;
  wish();
}

/** Mount a landscape that takes packed scenes. */
export function join(root, options) {
  const map = mount(root, {
    ...options,
    send(what, value) {
      if (what === "detail") wonder(map, value);
      else if (what === "glimpses") glimpse(map, value);
      else options.send(what, value);
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
  const known = previews.get(pack.preview) ?? {
    fields: new Map(), places: new Map(), outlines: new Map(),
  };
  for (const [number, field] of Object.entries(pack.fields)) {
    const error = pack[`error${number}`];
    known.fields.set(Number(number), {
      ...field, error, values: decode({ error, scale: field.scale }), lce: pack[`lce${number}`],
    });
  }
  for (const [key, at] of Object.entries(pack.outlines ?? {})) {
    known.outlines.set(Number(key), { at, lines: pack[`lines${key}`] });
  }
  for (const [number, found] of Object.entries(pack.places ?? {})) {
    known.places.set(Number(number), found);
  }
  known.curve = pack.curve ?? known.curve;
  known.band = pack.band ?? known.band;
  known.sampled = pack.sampled ?? known.sampled ?? null;
  known.isAll = pack.isAll;
  known.sample = pack.sample;
  keep(previews, pack.preview, known, MOST_PREVIEWS);
}

function supply(map) {
  const { scene } = map.state;
  if (!scene) return;
  const rows = sets.get(scene.rows);
  if (rows) map.setRows(rows);
  map.setPreview(previews.get(scene.preview) ?? null);
}

/** Ask for what is known of a row. */
async function wonder(map, row) {
  const answer = address && (await ask({ rows: map.state.scene.rows, row }));
  if (answer) map.setDetail(unpack(answer));
}

/** Ask for images or words of rows. */
async function glimpse(map, glimpses) {
  const answer = address && (await ask({ rows: map.state.scene.rows, glimpses }));
  map.setGlimpses(answer ? unpack(answer) : null);
}

/** What the shown landscapes lack: rows, and for the slider fields, the curve, the band. */
function lacking() {
  const scenes = [...maps].map((map) => map.state.scene).filter(Boolean);
  const bare = scenes.find(({ rows }) => rows && !sets.has(rows));
  if (bare) return { rows: bare.rows, all: true };
  const scene = scenes.find(({ preview }) => preview);
  if (!scene) return null;
  const known = previews.get(scene.preview);
  const has = known ? [...known.fields.keys()] : [];
  if (known?.isAll && has.length >= scene.gammas.length) return null;
  const outlined = known ? [...known.places.keys()] : [];
  return { preview: scene.preview, known: has, outlined, near: scene.gamma };
}

/** Ask for it, until all is there. */
async function wish() {
  if (isAsking) return;
  isAsking = true;
  for (let lack; address && (lack = lacking()); ) {
    const answer = await ask(lack);
    if (answer) deliver(answer);
    else await new Promise((resolve) => setTimeout(resolve, BREATHER));
  }
  isAsking = false;
}

/** The answer, or null where there is none: the server may be gone, or show something else now. */
async function ask(question) {
  try {
    const answer = await fetch(address, { method: "POST", body: JSON.stringify(question) });
    return answer.status === 200 ? new Uint8Array(await answer.arrayBuffer()) : null;
  } catch {
    return null;
  }
}
