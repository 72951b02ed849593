// The bandwidth under the hand: a slider over the largest local error at every γ, and play.

/** Pixels from the end of a slider to the middle of its thumb there. */
const INSET = 8;
const PLAY = "M4 2l10 6-10 6z";
const STOP = "M3 3h10v10H3z";
/** Bandwidths a second while it plays; fewer, in steps, for who wants little motion. */
const PACE = 7;
const QUIET_PACE = 1.5;
/** Milliseconds after a key until the bandwidth is taken. */
const PAUSE = 100;

/** Build the slider; `on.move(position)` while it moves, `on.rest(number)` when it rests, and
    `on.step(number)` once a key has moved it and others may follow. */
function gammaBar(on) {
  const input = element("input", {
    type: "range", min: "0", step: "any", "aria-label": "Bandwidth γ",
    title: "Line: the largest local error with enough neighbours. Band: where the whole curve of a calibrated model stays, with 95 %.",
  });
  const curve = element("canvas", { "aria-hidden": "true" });
  const play = element("button", { type: "button" });
  const said = element("output", {});
  const dot = element("div", { class: "dot", "aria-hidden": "true" });
  const bar = element("div", { class: "bar", "aria-hidden": "true" });
  const node = element(
    "div",
    { class: "gamma" },
    play,
    element("div", { class: "track" }, curve, dot, input, bar),
    said,
  );
  let [gammas, known, look, pending, playing, timer] = [[1], null, null, null, 0, 0];

  const position = () => Number(input.value);
  const gammaAt = (at) => {
    const low = Math.floor(at);
    const high = Math.min(gammas.length - 1, low + 1);
    return gammas[low] ** (1 - at + low) * gammas[high] ** (at - low);
  };
  /** Where on the slider a γ lies. */
  const positionOf = (gamma) => between(gammas, [...gammas.keys()], gamma);
  const set = (at) => {
    input.value = String(Math.min(gammas.length - 1, Math.max(0, at)));
    const gamma = gammas[Math.round(position())];
    input.setAttribute("aria-valuetext", String(gamma));
    tell();
  };
  const move = (at) => {
    set(at);
    on.move(position());
  };
  /** Let it stay where the hand moved it, whatever comes before that is told and answered. */
  const hold = () => {
    pending = { number: Math.round(position()), until: Date.now() + 10_000 };
  };
  const rest = () => {
    set(Math.round(position()));
    hold();
    on.rest(pending.number);
  };

  input.addEventListener("input", () => {
    stop();
    move(position());
    hold();
  });
  input.addEventListener("change", rest);
  input.addEventListener("keydown", (event) => {
    const step = {
      ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10,
      Home: -1e9, End: 1e9,
    }[event.key];
    if (!step) return;
    event.preventDefault();
    move(Math.round(position()) + step);
    hold();
    on.step(pending.number);
    clearTimeout(timer);
    timer = setTimeout(rest, PAUSE);
  });

  function stop() {
    if (!playing) return;
    cancelAnimationFrame(playing);
    playing = 0;
    dressPlay();
  }
  function start() {
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const last = gammas.length - 1;
    const from = position() >= last - 0.5 ? 0 : position();
    let began = null;
    const step = (now) => {
      began ??= now;
      const gone = ((now - began) / 1000) * (calm ? QUIET_PACE : PACE);
      const at = Math.min(last, from + (calm ? Math.floor(gone) : gone));
      move(at);
      if (at >= last) {
        stop();
        rest();
      } else playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
    dressPlay();
  }
  play.onclick = () => {
    if (!playing) start();
    else {
      stop();
      rest();
    }
  };
  const dressPlay = () => {
    const label = playing ? "Stop" : "Play through γ";
    play.title = label;
    play.setAttribute("aria-label", label);
    play.innerHTML = icon(playing ? STOP : PLAY);
  };
  dressPlay();

  const axes = () => {
    const { curve: line, band } = known || {};
    const [w, h] = [curve.clientWidth, curve.clientHeight];
    const top = 1.1 * Math.max(...(line?.mlce ?? [0.1]), ...(band?.high ?? [0]), 0.05);
    return {
      x: (g) => INSET + (positionOf(g) / (gammas.length - 1)) * (w - 2 * INSET),
      y: (v) => h - 1 - (v / top) * (h - 3),
    };
  };
  /** Say what is known of the γ under the hand, and put the dot there. */
  function tell() {
    const gamma = Number(gammaAt(position()).toPrecision(2));
    const { curve: line, band } = known || {};
    const value = line && between(line.gamma, line.mlce, gamma);
    dot.hidden = value == null;
    let words = `γ = ${gamma}`;
    if (value != null) {
      const { x, y } = axes();
      dot.style.transform = `translate(${x(gamma)}px, ${y(value)}px)`;
      words += ` · supported MLCE ${whole(value)} points`;
      const ends = band && [band.low, band.high].map((edge) => between(band.gamma, edge, gamma));
      if (ends && ends[0] != null && ends[1] != null) {
        words += `\ncalibrated curves ${whole(ends[0])} to ${whole(ends[1])}`;
      }
    }
    said.textContent = words;
  }
  function draw() {
    tell();
    const [w, h] = [curve.clientWidth, curve.clientHeight];
    if (!w || !look) return;
    const pen = penOf(curve, w, h);
    const { x, y } = axes();
    const { curve: line, band } = known || {};
    if (band) {
      pen.fillStyle = look.faint;
      pen.globalAlpha = 0.5;
      pen.beginPath();
      trace(pen, band.gamma, band.high, x, y);
      trace(pen, [...band.gamma].reverse(), [...band.low].reverse(), x, y, true);
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (line) {
      pen.strokeStyle = look.accent;
      pen.lineWidth = 1.8;
      pen.beginPath();
      trace(pen, line.gamma, line.mlce, x, y);
      pen.stroke();
    }
  }
  new ResizeObserver(draw).observe(curve);

  return {
    node,
    /** The bandwidth under the hand. */
    get gamma() {
      return gammas[Math.round(position())];
    },
    /** Take the bandwidths and the one that is shown; not while the hand is on the slider. */
    update(scene, nextLook) {
      look = nextLook;
      node.hidden = !scene.gammas;
      if (node.hidden) return true;
      gammas = scene.gammas;
      input.max = String(gammas.length - 1);
      const number = gammas.indexOf(scene.gamma);
      const waits = pending && pending.number !== number && Date.now() < pending.until;
      if (!waits && !playing) {
        pending = null;
        set(number);
      }
      draw();
      return !waits && !playing;
    },
    /** Stand where another slider is moved to. */
    follow: set,
    /** Take the curve, and how much of what it needs is there. */
    know(next) {
      known = next;
      const share = next ? next.fields.size / gammas.length : 0;
      bar.style.width = share < 1 ? `${share * 100}%` : "0";
      draw();
    },
    stop,
  };
}

const whole = (error) => (error * 100).toFixed(0);

/** A value between the γ of a curve, on a logarithmic axis; null where it is unknown. */
function between(gammas, values, gamma) {
  const high = gammas.findIndex((g) => g >= gamma);
  if (high < 0) return values.at(-1);
  if (high === 0) return values[0];
  const [a, b] = [values[high - 1], values[high]];
  if (a === null || b === null) return null;
  const share = Math.log(gamma / gammas[high - 1]) / Math.log(gammas[high] / gammas[high - 1]);
  return a + share * (b - a);
}

function trace(pen, gammas, values, x, y, joins = false) {
  let goesOn = joins;
  gammas.forEach((gamma, k) => {
    if (values[k] === null) return;
    if (goesOn) pen.lineTo(x(gamma), y(values[k]));
    else pen.moveTo(x(gamma), y(values[k]));
    goesOn = true;
  });
}
