// What the server is told: the view when the hand rests, and the rest until it is heard.

/** Milliseconds without a move until the view is told. */
const CALM = 500;
/** Milliseconds until what the server was told and did not take is told again. */
const PATIENCE = 5000;
/** With one of these the reader may leave the page. */
const LEAVING = ["pointerdown", "click", "popstate"];

/** Tell by `send(what, value)`; `saved()` is the view. */
export function teller(send, saved) {
  const unheard = {};
  let waiting = 0;

  const tellView = () => {
    clearTimeout(waiting);
    waiting = 0;
    send("view", saved());
  };
  const hush = () => Object.values(unheard).forEach(clearTimeout);
  /** Say what is left to say as a press begins, and nothing after a click that leaves the page: what
      is said between that and the next page makes Streamlit empty the next page. */
  const leave = ({ type, target }) => {
    if (waiting && type === "pointerdown") tellView();
    if (type === "click" && !target.closest("a")) return;
    clearTimeout(waiting);
    if (type !== "pointerdown") hush();
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
      send(what, value);
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
