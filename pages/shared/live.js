// The landscape as a keyed component: the element stays, so the view does.
const maps = new WeakMap();

const isDark = (root) => {
  const color = getComputedStyle(root.host).getPropertyValue("--st-background-color").trim();
  const [r, g, b] = color.match(/\w\w/g).map((part) => parseInt(part, 16));
  return 2 * r + 3 * g + b < 3 * 255;
};

export default async ({ data, parentElement, setStateValue, setTriggerValue }) => {
  const { join } = await globalThis.loreLens;
  let joined = maps.get(parentElement);
  if (!joined) {
    const events = new Set(["place", "row"]);
    const send = (what, value) =>
      (events.has(what) ? setTriggerValue : setStateValue)(what, value);
    joined = join(parentElement, { mode: () => (isDark(parentElement) ? "dark" : "light"), send });
    maps.set(parentElement, joined);
  }
  joined.show(data);
  return () => {
    maps.get(parentElement)?.leave();
    maps.delete(parentElement);
  };
};
