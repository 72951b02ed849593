// What arrives in one part of a page for the landscapes in it: rows and fields, by their keys. What
// the server is told: the view when the hand rests, and the rest until it is heard.

/** Milliseconds without a move until the view is told. */
const CALM = 500;
/** Milliseconds until what the server was told and did not take is told again. */
const PATIENCE = 5000;
/** With one of these the reader may leave the page. */
const LEAVING = ["pointerdown", "click", "popstate"];

/** Tell by `send(what, value)`; `saved()` is the view. */
function teller(send, saved) {
  const unheard = {};
  let waiting = 0;
  let isOnItsWay = false;
  let goOn = null;

  /** Streamlit sends what it is told after the event at hand; a busy browser may do what the next
      click asks for before that. */
  const tell = (what, value) => {
    send(what, value);
    isOnItsWay = true;
    setTimeout(() => {
      isOnItsWay = false;
      goOn?.();
      goOn = null;
    });
  };
  const tellView = () => {
    clearTimeout(waiting);
    waiting = 0;
    tell("view", saved());
  };
  const hush = () => Object.values(unheard).forEach(clearTimeout);
  /** Say what is left to say as a press begins, and nothing after a click that leaves the page: what
      is said between that and the next page makes Streamlit empty the next page. The page is left
      only when what was said before has been sent. */
  const leave = (event) => {
    const { type, target } = event;
    const link = type === "click" ? target.closest("a") : null;
    if (waiting && type === "pointerdown") tellView();
    if (type === "click" && !link) return;
    clearTimeout(waiting);
    if (type === "pointerdown") return;
    hush();
    if (!isOnItsWay || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    goOn = () => (link ? link.click() : window.dispatchEvent(new PopStateEvent("popstate")));
  };
  for (const what of LEAVING) window.addEventListener(what, leave, true);

  return {
    /** The view has changed. */
    viewSoon() {
      clearTimeout(waiting);
      waiting = setTimeout(tellView, CALM);
    },
    /** Tell, and tell again should the word be lost on its way. */
    say(what, value, isTaken, pause = PATIENCE) {
      tell(what, value);
      clearTimeout(unheard[what]);
      unheard[what] = setTimeout(() => {
        if (!isTaken()) this.say(what, value, isTaken, 2 * pause);
      }, pause);
    },
    stop() {
      for (const what of LEAVING) window.removeEventListener(what, leave, true);
      clearTimeout(waiting);
      hush();
    },
  };
}

const maps = new Set();
const sets = new Map();
const sliders = new Map();
/** Sets of rows, and of fields for a slider, that are kept: those shown, and those before. */
const MAX_SETS = 2;
const MAX_SLIDERS = 8;
/** Milliseconds until one asks again after no answer. */
const RETRY_MS = 2000;
let isAsking = false;

/** Hand on what Python packed: rows, or fields or a part of them. */
function deliver(bytes) {
  const pack = unpack(bytes);
  if (pack.fields) takeFields(pack);
  else keep(sets, pack.key, pack, MAX_SETS);
  for (const map of maps) supply(map);
}

/** Mount a landscape that takes packed scenes. */
function join(root, options) {
  const map = mount(root, {
    ...options,
    send(what, value) {
      if (what === "detail") askAbout(map, { row: value }, map.setDetail);
      else if (what === "glimpses") askAbout(map, { glimpses: value }, map.setGlimpses);
      else if (what === "field") askAbout(map, { gamma: value }, map.setField);
      else if (what === "linked") lead(map, value);
      else options.send(what, value);
    },
  });
  maps.add(map);
  const showScene = (scene) => {
    map.update(scene);
    supply(map);
    askForAll();
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

/** Let the maps that are linked with one do what it does. */
function lead(map, what) {
  const { link } = map.state.scene;
  for (const other of maps) {
    if (other !== map && other.state.scene?.link === link) other.follow(what);
  }
}

function keep(store, key, value, most) {
  store.delete(key);
  store.set(key, value);
  while (store.size > most) store.delete(store.keys().next().value);
}

function takeFields(pack) {
  const known = sliders.get(pack.key) ?? {
    fields: new Map(), places: new Map(), outlines: new Map(),
  };
  for (const [number, field] of Object.entries(pack.fields)) {
    const lce = pack[`lce${number}`];
    known.fields.set(Number(number), fieldOf(field, pack[`error${number}`], { lce }));
  }
  for (const [key, at] of Object.entries(pack.outlines)) {
    known.outlines.set(Number(key), { at, lines: pack[`lines${key}`] });
  }
  for (const [number, found] of Object.entries(pack.places)) {
    known.places.set(Number(number), found);
  }
  known.curve = pack.curve ?? known.curve;
  known.band = pack.band ?? known.band;
  known.sampled = pack.sampled ?? known.sampled ?? null;
  known.sample = pack.sample ?? known.sample;
  known.nextPart = pack.nextPart;
  known.isAll = pack.isAll;
  keep(sliders, pack.key, known, MAX_SLIDERS);
}

function supply(map) {
  const { scene } = map.state;
  if (!scene) return;
  const rows = sets.get(scene.rows);
  if (rows) map.setRows(rows);
  map.setFields(sliders.get(scene.fields) ?? null);
}

/** Ask for what is known of rows, and give it to the map, or null. */
async function askAbout(map, asked, take) {
  const { address, rows } = map.state.scene;
  const answer = address && (await ask(address, { rows, ...asked }));
  take(answer ? unpack(answer) : null);
}

/** What the shown landscapes lack, with where to ask for it: rows, or the next part of fields. */
function lacking() {
  const scenes = [...maps].map((map) => map.state.scene).filter((scene) => scene?.address);
  const bare = scenes.find(({ rows }) => !sets.has(rows));
  if (bare) return [bare.address, { rows: bare.rows, all: true }];
  // That of several maps which has the fewest fields: what another still lacks may take long.
  const fieldsOf = ({ fields }) => sliders.get(fields)?.fields.size ?? 0;
  const [scene] = scenes
    .filter(({ fields }) => fields && !sliders.get(fields)?.isAll)
    .sort((one, other) => fieldsOf(one) - fieldsOf(other));
  return scene && [scene.fields, { part: sliders.get(scene.fields)?.nextPart ?? 0 }];
}

/** Ask for it, until all is there. */
async function askForAll() {
  if (isAsking) return;
  isAsking = true;
  for (let lack; (lack = lacking()); ) {
    const answer = await ask(...lack);
    if (answer) deliver(answer);
    else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  isAsking = false;
}

/** The answer, or null where there is none: the server may be gone, or show something else now. */
async function ask(address, question) {
  try {
    const answer = await fetch(address, { method: "POST", body: JSON.stringify(question) });
    return answer.status === 200 ? new Uint8Array(await answer.arrayBuffer()) : null;
  } catch {
    return null;
  }
}
