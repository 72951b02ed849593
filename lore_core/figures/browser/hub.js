// What arrives in one part of a page for the landscapes in it: rows, once for all scenes of them.

import { mount } from "./landscape.js";
import { unpack } from "./protocol.js";

const maps = new Set();
const kept = new Map();
/** Sets of rows that are kept: those shown, and those before. */
const MOST_KEPT = 2;

/** Hand on what Python packed. */
export function deliver(bytes) {
  const pack = unpack(bytes);
  kept.delete(pack.key);
  kept.set(pack.key, pack);
  while (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  for (const map of maps) fetchRows(map);
}

/** Mount a landscape that takes packed scenes. */
export function join(root, options) {
  const map = mount(root, options);
  const joined = {
    map,
    show(bytes) {
      map.update(unpack(bytes));
      fetchRows(map);
    },
    leave() {
      maps.delete(map);
      map.unmount();
    },
  };
  maps.add(map);
  return joined;
}

function fetchRows(map) {
  const rows = kept.get(map.state.scene?.rows);
  if (rows) map.setRows(rows);
}
