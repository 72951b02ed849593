// What the server is told: the view when the hand rests, and the rest until it is heard.

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
