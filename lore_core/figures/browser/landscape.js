// One landscape in a page: mount it, tell it what to show, take it away.

/** Pixels² a row needs to be drawn over the field when one looks near. */
const ROOM = 200;
/** Pixels around the pointer in which a row is pointed at. */
const REACH = 9;
/** In space, where the foremost of them is meant. */
const REACH_IN_SPACE = 5;
/** Pixels of a row that is marked, seen from afar. */
const MARK = 5.5;
/** Rows drawn while the map moves. */
const MAX_MOVING_ROWS = 150_000;
const REST = 160;
/** What a drag may do. */
const DRAGS = ["turn", "pan", "lasso", "box"];
/** Milliseconds a row is pointed at until more is asked about it. */
const DETAIL_DELAY_MS = 120;
/** Milliseconds that the page of a γ waits for its field at most. */
const FIELD_FIRST_MS = 3000;

/**
 * Mount a landscape.
 * @param root where it stands
 * @param mode () => "light" | "dark"
 * @param send (what, value): "view", "selection", "place", "row", as the reader does it
 */
function mount(root, { mode, send }) {
  const parts = build(root);
  const { stage } = parts;
  const bar = gammaBar({
    move(position) {
      preview(position);
      lead("gamma", position);
    },
    // While a field is on its way, none is asked for that the next key may make worthless.
    step: (number) => awaited === null && askField(scene.gammas[number]),
    rest: (number) => {
      const gamma = scene.gammas[number];
      askField(gamma);
      clearTimeout(follower?.timer);
      const say = () => {
        const before = scene;
        told.say("gamma", gamma, () => scene !== before);
      };
      follower = { say, timer: setTimeout(follow, FIELD_FIRST_MS) };
      if (awaited !== gamma) follow();
    },
  });
  /** Ask for the page of the γ at rest: it takes the processors for longer than its field does. */
  function follow() {
    clearTimeout(follower?.timer);
    follower?.say();
    follower = null;
  }
  /** Ask for the field of a γ, which comes by itself; the page, which takes longer, after it. */
  function askField(gamma) {
    if (gamma === scene.gamma || gamma === awaited || !scene.field) return;
    awaited = gamma;
    send("field", gamma);
  }
  parts.box.insertBefore(bar.node, stage);
  const painter = sparing(glPainter(parts.picture) ?? canvasPainter(parts.picture));
  let [scene, rows, index, view, look, labels] = [null, null, null, null, null, []];
  let against = null;
  let [field, exact, known, flags, selected, selection] = [null, null, null, null, null, []];
  let [drawn, pointed, place, hot, tool, moving] = [null, -1, null, null, "pan", false];
  let brought = null;
  let [awaited, follower] = [null, null];
  let ghost = null;
  let places = [];
  let overlaid = [];
  let [counted, inSight] = [{}, 0];
  let [asked, resting, wondering] = [0, 0, 0];
  const swipe = swipeHandle(stage, () => redraw());
  const details = new Map();
  const glimpses = new Glimpses(parts.glimpses, (lacking) => send("glimpses", lacking));
  const told = teller(send, () => view.saved);

  /** Let maps that are linked with this one do the same. */
  const lead = (what, value) => scene?.link && send("linked", { what, value });
  const shown = (i) => (flags ? (flags[i] & SHOWN) !== 0 : true);
  const redraw = () => { asked ||= requestAnimationFrame(paint); };

  function paint() {
    asked = 0;
    if (!scene || !view || !stage.clientWidth) return;
    const what = layers();
    painter.draw({
      pixels: [parts.picture.width, parts.picture.height],
      window: view.window,
      scale: scene.scale,
      split: swipe.share,
      space: spaceSeen(view),
      sampled: view.axes && field !== exact ? known.sampled : null,
      ...what,
      size: what.size * density(),
      rows: what.rows || what.marks,
      chosen: selected === null ? 0 : what.marks ? 2 : 1,
      most: moving ? MAX_MOVING_ROWS : Infinity,
    });
    overlay();
    inset();
    const taken = placeLabels(labels, view);
    const near = what.rows && scene.glimpse && isNearEnough(what.seen, view);
    if (!near) glimpses.hide();
    const glimpsed = near && glimpses.place(seenRows().within(view.window, shown), {
      rows, at: placeOf, scene, field, view, look, pointed, isExact: field === exact, selected,
      taken: [...taken, boxOf(parts.tools)], waits: moving,
    });
    say(caption(scene, {
      ...what,
      hasRows: rows !== null,
      isVague: what.seen > MAX_MOVING_ROWS,
      glimpses: glimpsed,
      chosen: selected && `${selected.count.toLocaleString("en")} ${selection.length ? "selected" : "marked"}`,
      isExact: field === exact,
      sample: known?.sample,
    }));
  }

  /** Draw lines over the map, where they are not there as they should be. */
  function overlay() {
    // Of another bandwidth other rows are the worst.
    const rings = field === exact ? scene.rings : [];
    const now = [
      scene, places, field === exact, rows, look, selection, drawn, drawn?.length, pointed, hot, ghost, rings.length,
      view.x, view.y, view.scale, view.width, view.height, view.axes,
    ];
    if (now.every((value, k) => value === overlaid[k])) return;
    overlaid = now;
    const regions = places.map((region) => ({
      ...region, chosen: scene.chosen === region.number, hot: hot === region.number,
    }));
    drawOverlay(parts.overlay, view, {
      look, shape: scene.shape, regions, rings, dots: scene.dots, selection, drawn,
      isFaint: places === scene.regions && field !== exact,
      pointed: pointed >= 0 ? placeOf(pointed) : ghost,
      picked: rows && scene.row !== null ? placeOf(scene.row) : null,
    });
  }

  /** While γ moves, show how much is off by how much. */
  function inset() {
    parts.inset.hidden = field === exact || !field.lce;
    if (parts.inset.hidden) return;
    drawInset(parts.inset, {
      lce: field.lce, look, most: scene.scale.limit,
      before: known?.fields.get(scene.gammas.indexOf(scene.gamma))?.lce ?? null,
    });
  }

  function say(words) {
    if (parts.said.textContent !== words) parts.said.textContent = words;
  }

  /** What is drawn at this distance: the field from afar, rows where there is room for each. */
  function layers() {
    const area = view.width * view.height;
    const seen = index ? countSeen() : 0;
    const isSpace = view.axes !== null;
    const near = seen > 0 && seen * ROOM < area;
    const alone = isSpace || scene.layer === "rows";
    const size = Math.min(11, Math.max(1.6, 0.5 * Math.sqrt(area / Math.max(seen, 1))));
    const over = scene.layer === "both" || near;
    // What is marked and not outlined by the reader is seen from afar, too.
    const marks = selected !== null && !selection.length && !alone && !over;
    return {
      field: !alone,
      marks,
      rows: index !== null && (alone || over),
      strength: marks || (near && scene.layer === "field") ? 0.5 : 1,
      size: marks ? MARK : alone || near ? size : Math.min(size, 5),
      seen,
      near,
    };
  }

  /** Rows of the picture in sight; of very many those in the cells that are touched. */
  function countSeen() {
    const most = seenRows().count(view.window);
    // As it turns, rows are sought where they were.
    if (!isSamePlane(index.axes, view.axes)) return inSight;
    inSight = !flags || most > MAX_MOVING_ROWS ? most : index.within(view.window, shown).length;
    return inSight;
  }

  /** Rows by where they are seen; while space turns, by where they were. */
  function seenRows() {
    if (!moving && !isSamePlane(index.axes, view.axes)) index = new RowIndex(rows, view.axes);
    return index;
  }

  const placeOf = (row) => placeIn(rows, row);

  function resize() {
    const [w, h] = [stage.clientWidth, stage.clientHeight];
    if (!w || !view) return;
    const [wide, high] = [w, h].map((pixels) => Math.round(pixels * density()));
    // (A canvas that is given its size is empty, whatever size it had.)
    if (parts.picture.width !== wide) parts.picture.width = wide;
    if (parts.picture.height !== high) parts.picture.height = high;
    view.resize(w, h);
    paint();
  }

  function mark() {
    if (!scene || !rows) return;
    selected = selection.length ? chosenRows() : null;
    if (!selected && scene.marked) selected = fromBits(scene.marked, rows.x.length);
    flags = flagsOf(scene, rows, selected, field === exact);
    if (selected) selected.count = flags.reduce((sum, flag) => sum + (flag & SELECTED ? 1 : 0), 0);
    painter.setErrors(scene.rowError);
    painter.setFlags(flags);
  }

  /** Rows in what the reader has drawn: counted once, not at every γ. */
  function chosenRows() {
    if (counted.selection !== selection || counted.rows !== rows) {
      counted = { selection, rows, inside: selectedRows(rows, selection, seenRows()) };
    }
    return counted.inside;
  }

  function rest(what) {
    clearTimeout(resting);
    moving = what;
    if (what) resting = setTimeout(() => { moving = false; redraw(); }, REST);
    told.viewSoon();
    lead("view", view.saved);
    redraw();
  }

  /** Bring the row that was picked elsewhere into sight. */
  function bring() {
    if (!rows || scene.row === brought) return;
    brought = scene.row;
    if (brought === null) return;
    const [x0, y0, x1, y1] = view.window;
    const [x, y] = view.flat(placeOf(brought));
    if (x > x0 && x < x1 && y > y0 && y < y1) return;
    [view.x, view.y] = [x, y];
    rest(true);
  }

  function hover(point, event) {
    if (!scene) return;
    const [x, y] = view.toMap(...point);
    const over = glimpses.at(point);
    const reach = (view.axes ? REACH_IN_SPACE : REACH) / view.scale;
    const ahead = view.axes && ((i) => along(view.toward, placeOf(i)));
    const row = over >= 0 || !index ? over : seenRows().nearest(x, y, reach, shown, ahead);
    const what = layers();
    const ring = row >= 0 && scene.worst.includes(row);
    const isDrawn = what.rows || ring || (what.marks && selected[row]);
    pointed = row >= 0 && isDrawn ? row : -1;
    hot = pointed < 0 ? regionAround(places, x, y) : null;
    stage.classList.toggle("points", pointed >= 0 || hot !== null);
    ghost = null;
    tell(event ? point : null);
    lead("place", event ? [x, y] : null);
    redraw();
  }

  /** Point at a place that is pointed at on a linked map; null: at none. */
  function pointAt(at) {
    [pointed, hot, ghost] = [-1, null, at];
    tell(at && view.toPixel(...at));
    redraw();
  }

  /** Say what is pointed at; of a row, as soon as it comes, all that is known. */
  function tell(point) {
    place = point;
    clearTimeout(wondering);
    if (!point) return showHover(parts.hover, [], [0, 0], stage);
    const write = (lines, image) => showHover(parts.hover, lines, point, stage, image);
    if (pointed < 0) {
      const at = view.toMap(...point);
      if (view.axes) return write([]);
      return write(against ? pairLines([field, against], scene.against.names, at) : fieldLines(field, ...at));
    }
    const detail = field === exact ? details.get(pointed) : null;
    const lines = detail?.lines ?? rowLines(field === exact ? scene : {}, rows, pointed);
    write(lines, detail?.image);
    if (!detail && field === exact) wondering = setTimeout(() => send("detail", pointed), DETAIL_DELAY_MS);
  }

  const choose = (number) => send("place", number);

  function select(parts_) {
    selection = parts_;
    mark();
    told.say("selection", parts_, () => isSame(scene.selection, parts_) || selection !== parts_);
    redraw();
  }

  const on = {
    view: (isMoving) => rest(isMoving),
    point: hover,
    leave: () => {
      pointAt(null);
      lead("place", null);
    },
    drawing: (line) => {
      drawn = line;
      parts.hover.hidden = true;
      redraw();
    },
    select: (corners, sign) => {
      if (!scene.rows) return;
      const map = corners.map(([px, py]) => view.toMap(px, py).map((v) => +v.toPrecision(6)));
      const part = {
        sign: sign || 1, x: map.map((c) => c[0]), y: map.map((c) => c[1]), axes: view.axes,
      };
      select(sign ? [...selection, part] : [part]);
    },
    click: (point) => {
      moving = false; // rows are sought where they are seen, right after a turn, too
      hover(point, null);
      if (pointed >= 0) send("row", pointed);
      else if (hot !== null) choose(hot);
    },
    escape: () => (selection.length ? select([]) : stage.blur()),
  };

  function take(name) {
    tool = name;
    for (const each of DRAGS) {
      parts.buttons[each].setAttribute("aria-pressed", each === name);
    }
    stage.classList.toggle("draws", name === "lasso" || name === "box");
  }
  for (const name of DRAGS) parts.buttons[name].onclick = () => take(name);
  const zoom = (factor) => () => {
    view.zoomAt(factor, view.width / 2, view.height / 2);
    rest(true);
  };
  parts.buttons.in.onclick = zoom(1.5);
  parts.buttons.out.onclick = zoom(1 / 1.5);
  parts.buttons.reset.onclick = () => {
    view.reset();
    rest(true);
  };
  const watch = new ResizeObserver(resize);
  watch.observe(stage);

  function dress() {
    const name = mode();
    look = { ...scene.looks[name], colors: scene[name] };
    const share = (color) => color.match(/\w\w/g).map((part) => parseInt(part, 16) / 255);
    painter.setLook({
      colors: look.colors,
      paper: share(look.paper),
      ink: share(look.line),
      quiet: share(look.quiet),
    });
    for (const key of ["ink", "paper", "quiet", "grid", "accent"]) {
      parts.box.style.setProperty(`--${key === "grid" ? "line" : key}`, look[key]);
    }
    drawScale(parts.scale, scene.scale, look.colors);
  }

  /** Show the field between two bandwidths, from those that are there. */
  function preview(position) {
    if (!known || !known.fields.size) return;
    const was = field;
    field = { ...fieldBetween(known.fields, position), vivid: exact.vivid };
    showPlaces(placesNear(position) ?? scene.regions);
    painter.setField(field);
    if (view.axes) showRowsBetween();
    else if (was === exact && scene.rowError) mark();
    redraw();
  }

  /** Places of the bandwidth nearest to a position, where they are known; one that is looked at stays. */
  function placesNear(position) {
    const found = scene.chosen === null ? known.places.get(Math.round(position)) : null;
    if (!found) return null;
    const regions = found.map(([name, key]) => ({
      name, title: "", number: Number(name) - 1, ...known.outlines.get(key),
    }));
    const isShown = regions.length === places.length
      && regions.every(({ name, lines }, k) => name === places[k].name && lines === places[k].lines);
    return isShown ? places : regions;
  }

  function showPlaces(next, isChanged = places !== next) {
    if (!isChanged) return;
    places = next;
    // Whoever is at a place by keys stays there.
    const at = labels.find(({ node }) => node.matches(":focus"))?.number;
    // Between two bandwidths a number is nothing to choose yet.
    const take = places === scene.regions ? choose : () => {};
    labels = labelNodes({ ...scene, regions: places }, take);
    parts.labels.replaceChildren(...labels.map((label) => label.node));
    const kept = labels.find(({ number }) => at !== undefined && number === at);
    kept?.node.focus({ preventScroll: true });
  }

  /** In space rows have the colours, their own errors between two bandwidths. */
  function showRowsBetween() {
    if (!rows || !flags) return;
    const between = rowsBetween(field.values, known.sampled, flags);
    painter.setErrors(between.errors);
    painter.setFlags(between.flags);
  }

  const state = () => ({
    view, scene, places, rows, field, against, swipe, exact, known, selection, selected, labels,
    glimpses: glimpses.placed, painted: painter.painted,
  });
  // For who looks on: a test, a benchmark.
  Object.defineProperty(stage, "landscape", { get: state });

  return {
    /** All of it, to be put elsewhere in the page. */
    box: parts.box,
    /** Where a page puts controls and words of its own: beside the slider, and below the map. */
    head: bar.node,
    foot: parts.foot,
    /** Show a scene; the view stays unless the map is another one. */
    update(next) {
      const before = scene;
      scene = next;
      details.clear();
      stage.setAttribute("aria-label", next.alt);
      const { vivid, support, againstSupport, gamma } = next;
      exact = next.field ? fieldOf(next.field, next.error, { support, vivid, gamma }) : {};
      against = next.against
        && fieldOf(next.against.field, next.againstError, { support: againstSupport, vivid });
      painter.setAgainst(against);
      swipe.show(next.against?.names);
      if (!view) {
        view = new View(next.frame, next.corner);
        view.saved = next.view;
        listen(stage, view, on, () => tool);
      } else if (before.map !== next.map) {
        // (Rows lie elsewhere on another map, and in space have another coordinate: they come anew.)
        [rows, index, flags, selected, pointed] = [null, null, null, null, -1];
        view.reframe(next.frame, next.corner);
        view.reset();
      }
      if (!before || !isSame(before.selection, next.selection)) {
        selection = next.selection;
      }
      dress();
      // Without rows there is nothing to select.
      for (const name of ["lasso", "box"]) parts.buttons[name].hidden = !next.rows;
      parts.buttons.turn.hidden = !view.axes;
      if (before?.map !== next.map) take(view.axes ? "turn" : "pan");
      bar.node.hidden = !next.gammas;
      if (!next.gammas || bar.update(next, look)) field = exact;
      if (next.field) painter.setField(field ?? exact);
      showPlaces(next.regions, true);
      if (!before) brought = next.row;
      mark();
      resize();
      bring();
    },
    /** Take the rows: once for each map and set of bins. */
    setRows(next) {
      if (rows && rows.key === next.key) return;
      rows = next;
      index = new RowIndex(rows, view.axes);
      glimpses.forget();
      painter.setRows(rows);
      mark();
      redraw();
    },
    /** Take fields and a curve for the slider, as far as they are there. */
    setFields(next) {
      known = next;
      bar.know(next);
    },
    /** Take the exact field of the bandwidth that was chosen, before the page comes. */
    setField(next) {
      awaited = null;
      requestAnimationFrame(follow);
      if (next?.gamma !== bar.gamma || next.gamma === scene.gamma) return;
      const { gamma, support } = next;
      field = fieldOf(next.field, next.error, { support, vivid: exact.vivid, gamma });
      painter.setField(field);
      redraw();
    },
    /** Take images or words of rows; null where none came. */
    setGlimpses(next) {
      if (next && next.rows !== rows?.key) return;
      glimpses.take(next?.glimpses);
      if (next) redraw();
    },
    /** Take what is known of a row; null where nothing came. */
    setDetail(detail) {
      if (!scene || detail?.gamma !== scene.gamma) return;
      details.set(detail.row, detail);
      if (detail.row === pointed) tell(place);
    },
    /** Do what a linked map does: see a part, point at a place, move γ. */
    follow({ what, value }) {
      if (!view) return;
      if (what === "place") pointAt(value);
      else if (what === "gamma") {
        bar.follow(value);
        preview(value);
      } else {
        view.saved = value;
        redraw();
      }
    },
    /** The theme changed. */
    redress() {
      if (!scene) return;
      dress();
      redraw();
    },
    get state() {
      return state();
    },
    unmount() {
      told.stop();
      watch.disconnect();
      bar.stop();
      cancelAnimationFrame(asked);
      clearTimeout(resting);
      clearTimeout(wondering);
      painter.free();
      parts.box.remove();
    },
  };
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
