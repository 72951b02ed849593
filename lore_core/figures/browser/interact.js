// The hand on the map: mouse, fingers and keys, as what they mean; the handle of before and after.

const STEP = 60;
const ZOOM = 1.25;
/** Pixels a press may stray and still be a click. */
const STILL = 4;

/** Listen to a stage. `on` is told what was meant; `tool()` says what a drag does. */
function listen(stage, view, on, tool) {
  const fingers = new Map();
  let drawn = null;
  let start = null;
  let moved = false;

  const at = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const spread = () => {
    const [one, other] = [...fingers.values()];
    return {
      apart: Math.hypot(one[0] - other[0], one[1] - other[1]) || 1,
      x: (one[0] + other[0]) / 2,
      y: (one[1] + other[1]) / 2,
    };
  };
  const shift = (dx, dy) =>
    view.axes && tool() !== "pan" ? view.turn(dx, dy) : view.pan(dx, dy);
  const sign = (event) => (event.altKey ? -1 : event.shiftKey ? 1 : 0);

  const down = (event) => {
    if (event.button > 0 || event.target.closest("button")) return;
    stage.focus({ preventScroll: true });
    stage.setPointerCapture(event.pointerId);
    const point = at(event);
    fingers.set(event.pointerId, point);
    start = point;
    moved = false;
    // With Shift or Alt a drag draws, whatever the tool is.
    const draws = !["pan", "turn"].includes(tool()) || sign(event) !== 0;
    drawn = draws && fingers.size === 1 ? [point] : null;
    if (event.pointerType === "mouse") event.preventDefault();
  };
  const move = (event) => {
    const point = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return on.point(point, event);
    if (fingers.size === 2) {
      drawn = null;
      moved = true;
      const old = spread();
      fingers.set(event.pointerId, point);
      const now = spread();
      view.pan(now.x - old.x, now.y - old.y);
      view.zoomAt(now.apart / old.apart, now.x, now.y);
      return on.view(true);
    }
    fingers.set(event.pointerId, point);
    if (!moved && Math.hypot(point[0] - start[0], point[1] - start[1]) < STILL) return;
    moved = true;
    if (drawn) {
      if (tool() === "box") drawn = rectangle(start, point);
      else drawn.push(point);
      on.drawing(drawn);
    } else {
      shift(point[0] - before[0], point[1] - before[1]);
      on.view(true);
    }
  };
  const up = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (fingers.size) return;
    if (!moved) on.click(start, event);
    else if (drawn && event.type === "pointerup") {
      const corners = tool() === "box" ? drawn : simplified([...drawn, drawn[0]], 1).slice(0, -1);
      on.drawing(null);
      if (corners.length > 2) on.select(corners, sign(event));
    } else on.view(false);
    drawn = null;
  };
  const wheel = (event) => {
    // The page scrolls unless the map has the focus (a pinch on a touch pad comes with Ctrl).
    if (!event.ctrlKey && !hasFocus(stage)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    view.zoomAt(Math.exp((-event.deltaY * lines) / 400), ...at(event));
    on.view(true);
  };
  const keys = {
    ArrowLeft: () => shift(STEP, 0),
    ArrowRight: () => shift(-STEP, 0),
    ArrowUp: () => shift(0, STEP),
    ArrowDown: () => shift(0, -STEP),
    "+": () => view.zoomAt(ZOOM, view.width / 2, view.height / 2),
    "=": () => view.zoomAt(ZOOM, view.width / 2, view.height / 2),
    "-": () => view.zoomAt(1 / ZOOM, view.width / 2, view.height / 2),
    0: () => view.reset(),
  };
  const key = (event) => {
    if (event.target !== stage || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter") {
      event.preventDefault();
      on.select(rectangle([0, 0], [view.width, view.height]), sign(event));
    } else if (event.altKey) {
      return;
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (drawn) {
        drawn = null;
        on.drawing(null);
      } else on.escape();
    } else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
      on.view(true);
    }
  };
  const heard = {
    pointerdown: down,
    pointermove: move,
    pointerup: up,
    pointercancel: up,
    pointerleave: () => on.leave(),
    keydown: key,
    dblclick: (event) => {
      if (event.target.closest("button")) return;
      view.zoomAt(event.shiftKey ? 0.5 : 2, ...at(event));
      on.view(true);
    },
  };
  for (const [name, listener] of Object.entries(heard)) stage.addEventListener(name, listener);
  stage.addEventListener("wheel", wheel, { passive: false });
}

function hasFocus(stage) {
  return stage.getRootNode().activeElement === stage;
}

function rectangle([x0, y0], [x1, y1]) {
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

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
