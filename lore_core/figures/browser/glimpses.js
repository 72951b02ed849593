// What stands at a row when one looks very near: its image or its words, none over another.

/** Pixels² a row needs for it, and rows that have it at most. */
const PLOT = 1300;
const MAX_GLIMPSES = 160;
/** Rows asked about at once. */
const BATCH = 40;
/** Sides of an image in pixels; a width and a height left for words that are not there yet. */
const SIDES = [30, 76];
const WORDS = [90, 22];

/** Images or words of rows, kept as long as the rows are. */
class Glimpses {
  /** @param node where they stand; @param ask (rows): told which are lacking */
  constructor(node, ask) {
    this.node = node;
    this.ask = ask;
    this.forget();
  }

  /** Other rows are shown. */
  forget() {
    this.known = new Map();
    this.placed = [];
    this.asking = false;
    this.node.replaceChildren();
  }

  /** Take what came, [{row, image | words}]; null where nothing did. */
  take(found) {
    this.asking = false;
    for (const { row, image, words } of found ?? []) {
      const inner = image ? element("img", { src: image, alt: "" }) : words;
      const node = element("div", { class: `glimpse ${image ? "image" : "words"}` }, inner);
      this.known.set(row, { node, size: null });
    }
  }

  /**
   * Put them where there is room, those furthest off first.
   * @param near rows in sight
   * @param at where a row lies on the map
   * @param scene its errors count where they are those of the shown field
   * @param taken boxes that are not free
   * @returns how many there are
   */
  place(near, { rows, at, scene, field, isExact, view, look, taken, pointed, selected, waits }) {
    const errors = new Map(near.map((i) => [i, errorAt(i, rows, isExact ? scene : {}, field)]));
    const rank = (i) => (errors.get(i) === NOTHING ? -1 : Math.abs(errors.get(i)));
    near.sort((i, j) => rank(j) - rank(i) || i - j);
    const side = Math.sqrt((view.width * view.height) / Math.max(1, near.length)) * 0.8;
    const square = Math.min(SIDES[1], Math.max(SIDES[0], Math.round(side)));
    this.node.style.setProperty("--side", `${square}px`);
    const isImage = scene.glimpse === "image";
    const worst = new Set(scene.worst);
    const [lacking, shown] = [[], []];
    for (const i of near) {
      if (shown.length + lacking.length >= MAX_GLIMPSES) break;
      const known = this.known.get(i);
      if (known && !known.node.parentNode) this.node.append(known.node);
      if (known && !isImage) known.size ??= [known.node.offsetWidth, known.node.offsetHeight];
      const [w, h] = isImage ? [square, square] : known?.size ?? WORDS;
      const [px, py] = view.toPixel(...view.flat(at(i)));
      const box = boxAround(px, py, w, h);
      if (!taken.every((other) => isApart(box, other))) continue;
      taken.push(box);
      if (!known) lacking.push(i);
      else shown.push({ row: i, box, known, at: [px - w / 2, py - h / 2] });
    }
    const now = new Set(shown.map(({ known }) => known.node));
    for (const node of [...this.node.children]) if (!now.has(node)) node.remove();
    for (const { row, known: { node }, at } of shown) {
      const error = errors.get(row);
      const color = error === NOTHING ? look.quiet : css(colorOf(error, scene.scale, look.colors));
      node.style.transform = `translate(${at[0]}px, ${at[1]}px)`;
      node.style.setProperty("--error", color);
      node.classList.toggle("worst", isExact && worst.has(row));
      node.classList.toggle("hot", row === pointed);
      node.classList.toggle("faint", selected !== null && !selected[row]);
    }
    this.placed = shown;
    if (lacking.length && !waits && !this.asking) {
      this.asking = true;
      this.ask(lacking.slice(0, BATCH));
    }
    return shown.length;
  }

  /** Nothing is near enough. */
  hide() {
    if (this.placed.length) this.node.replaceChildren();
    this.placed = [];
  }

  /** The row whose image or words are under a pixel; -1 where none are. */
  at([x, y]) {
    const over = this.placed.find(({ box }) =>
      x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
    return over ? over.row : -1;
  }
}

/** Whether so many rows in sight are few enough. */
const isNearEnough = (n, view) => n > 0 && n * PLOT < view.width * view.height;

/** The error around a row: its own where it is known, else that of the field at its place. */
function errorAt(i, rows, scene, field) {
  if (scene.rowError) {
    return scene.rowSupport[i] < scene.rowLeast ? NOTHING : scene.rowError[i] / 32767;
  }
  const node = nodeAt(field, rows.x[i], rows.y[i]);
  return node < 0 ? NOTHING : field.values[node];
}

const css = (color) => `rgb(${color.join(",")})`;
