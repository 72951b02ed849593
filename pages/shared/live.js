// The landscape as a keyed component: the element stays, so the view does.
const maps = new WeakMap();
/** What was on the page a moment ago. Where one run of the page overtakes another, Streamlit may take
    the component away and bring it back: then what the reader looks at has never left. */
let left = null;
/** Milliseconds until it is given up. */
const MOMENT = 4000;

const isDark = (root) => {
  const color = getComputedStyle(root.host).getPropertyValue("--st-background-color").trim();
  const [r, g, b] = color.match(/\w\w/g).map((part) => parseInt(part, 16));
  return 2 * r + 3 * g + b < 3 * 255;
};
const nameOf = (root) => root.host.closest("[class*=st-key-]").className.match(/st-key-\S+/)[0];

function giveUp() {
  clearTimeout(left?.waiting);
  left?.shown.joined.leave();
  left = null;
}

function takeBack(name, root) {
  if (left?.name !== name) return null;
  const { shown, waiting } = left;
  clearTimeout(waiting);
  left = null;
  root.append(shown.joined.map.box);
  return shown;
}

function begin(join, root) {
  const events = new Set(["place", "row"]);
  const shown = {};
  shown.joined = join(root, {
    mode: () => (isDark(shown.root) ? "dark" : "light"),
    send: (what, value) =>
      (events.has(what) ? shown.setTriggerValue : shown.setStateValue)(what, value),
  });
  return shown;
}

export default async ({ data, parentElement: root, setStateValue, setTriggerValue }) => {
  const { join } = await import(SCRIPT);
  if (!maps.has(root)) maps.set(root, takeBack(nameOf(root), root) ?? begin(join, root));
  const shown = Object.assign(maps.get(root), { root, setStateValue, setTriggerValue });
  const name = nameOf(root);
  const turn = (shown.turn = (shown.turn ?? 0) + 1);
  shown.joined.show(data);
  return () => {
    // Streamlit also ends a call that a later one for the same element has overtaken.
    if (shown.turn !== turn || !maps.delete(root)) return;
    giveUp();
    // What is said now would reach the next page: see pages/shared/requests.py.
    shown.setStateValue = shown.setTriggerValue = () => {};
    left = { name, shown, waiting: setTimeout(giveUp, MOMENT) };
  };
};
