// Before and after in one picture: what is left of a handle, and what is right of it.

/** Shares of the width that a key moves the handle by. */
const NUDGE = { ArrowLeft: -0.02, ArrowDown: -0.02, ArrowRight: 0.02, ArrowUp: 0.02 };
const LEAPS = { PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 };

/** Put a handle on a stage; `moved()` is called when it moves. */
function swipeHandle(stage, moved) {
  const grip = element("div", {
    class: "grip", role: "slider", tabindex: "0", "aria-label": "Before and after",
    "aria-valuemin": "0", "aria-valuemax": "100", title: "Drag, or use the arrow keys",
  }, "‹ ›");
  const node = element("div", { class: "swipe" }, grip);
  const names = [0, 1].map((k) => element("div", { class: `side side${k}` }));
  let share = 0.5;

  const set = (next) => {
    share = Math.min(1, Math.max(0, next));
    node.style.left = `${share * 100}%`;
    const whole = Math.round(share * 100);
    const [left, right] = names.map((name) => name.textContent);
    grip.setAttribute("aria-valuenow", String(whole));
    grip.setAttribute("aria-valuetext", `${left} on the left ${whole} %, ${right} on the rest`);
    // A name stands only over what it names.
    names[0].style.clipPath = `inset(0 ${(1 - share) * 100}% 0 0)`;
    names[1].style.clipPath = `inset(0 0 0 ${share * 100}%)`;
  };
  const move = (next) => {
    set(next);
    moved();
  };
  const listeners = {
    pointerdown(event) {
      event.stopPropagation();
      event.preventDefault();
      grip.focus({ preventScroll: true });
      node.setPointerCapture(event.pointerId);
    },
    pointermove(event) {
      if (!node.hasPointerCapture(event.pointerId)) return;
      event.stopPropagation();
      const { left, width } = stage.getBoundingClientRect();
      move((event.clientX - left) / width);
    },
    dblclick(event) {
      event.stopPropagation();
      move(0.5);
    },
    keydown(event) {
      const by = NUDGE[event.key] ?? LEAPS[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      move(share + by);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) node.addEventListener(name, listener);

  return {
    /** Where the handle is, as a share of the width. */
    get share() {
      return share;
    },
    /** Stand on the stage with these names; null: be gone. */
    show(said) {
      const isThere = node.parentNode === stage;
      if (!said) {
        if (isThere) [node, ...names].forEach((part) => part.remove());
        return;
      }
      names.forEach((part, k) => part.replaceChildren(element("span", {}, said[k])));
      if (!isThere) stage.append(...names, node);
      set(share);
    },
  };
}
