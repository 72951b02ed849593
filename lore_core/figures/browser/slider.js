"use strict";
// A landscape at every bandwidth, drawn without a server: what browser/slider.py says.
(() => {
  const data = JSON.parse(document.getElementById("landscape-data").textContent);
  const el = (id) => document.getElementById(id);
  const [canvas, slider, chosen, said, hover] =
    ["landscape", "gamma", "picture", "gamma-said", "hover"].map(el);
  const R = data.resolution;
  const bytes = (text, Kind) => {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return new Kind(out.buffer);
  };
  for (const layer of data.layers) {
    layer.error = bytes(layer.error, Int8Array);
    layer.support = bytes(layer.support, Uint8Array);
  }
  for (const look of Object.values(data.looks)) look.colors = bytes(look.colors, Uint8Array);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const theme = () => (dark.matches && !printing ? data.looks.dark : data.looks.light);

  const color = (look, share) => {
    const at = 3 * Math.round(255 * Math.min(1, Math.max(0, share)));
    return look.colors.slice(at, at + 3);
  };

  const width = data.x[1] - data.x[0];
  const height = data.y[1] - data.y[0];
  const step = [width / (R - 1), height / (R - 1)];
  const ratio = Math.min(2, Math.max(0.4, height / width));
  const small = document.createElement("canvas");
  small.width = small.height = R;

  const size = () => {
    const css = canvas.clientWidth || 640;
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(css * dense);
    canvas.height = Math.round(css * ratio * dense);
    canvas.style.height = `${css * ratio}px`;
  };
  const place = (x, y) => [
    ((x - data.x[0] + step[0] / 2) / (width + step[0])) * canvas.width,
    (1 - (y - data.y[0] + step[1] / 2) / (height + step[1])) * canvas.height,
  ];
  const lines = (pen, all) => {
    pen.beginPath();
    for (let i = 0; i < all.length; i += 4) {
      pen.moveTo(...place(all[i], all[i + 1]));
      pen.lineTo(...place(all[i + 2], all[i + 3]));
    }
    pen.stroke();
  };

  const draw = () => {
    size();
    const look = theme();
    const layer = data.layers[+chosen.value];
    const k = +slider.value;
    const table = [];
    for (let v = -127; v <= 127; v++) {
      const error = (v / 127) * layer.scale[k];
      table.push(color(look, (error / data.limit + 1) / 2));
    }
    const brush = small.getContext("2d");
    const image = brush.createImageData(R, R);
    for (let row = 0; row < R; row++) {
      for (let column = 0; column < R; column++) {
        const code = layer.error[k * R * R + row * R + column];
        if (code === -128) continue;
        const at = 4 * ((R - 1 - row) * R + column);
        image.data.set(table[code + 127], at);
        image.data[at + 3] = 255;
      }
    }
    brush.putImageData(image, 0, 0);
    const pen = canvas.getContext("2d");
    const dense = window.devicePixelRatio || 1;
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, 0, 0, canvas.width, canvas.height);
    pen.lineCap = "round";
    pen.strokeStyle = look.faint;
    pen.lineWidth = dense;
    lines(pen, data.shape);
    pen.strokeStyle = look.ink;
    pen.lineWidth = 2 * dense;
    if (el("outlines").checked) {
      pen.font = `bold ${12 * dense}px sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      for (const region of data.regions) {
        lines(pen, region.lines);
        const [x, y] = place(...region.at);
        const half = pen.measureText(region.name).width / 2 + 3 * dense;
        pen.fillStyle = look.ink;
        pen.fillRect(x - half, y - 9 * dense, 2 * half, 18 * dense);
        pen.fillStyle = look.paper;
        pen.fillText(region.name, x, y + dense);
      }
    }
    const gamma = data.gammas[k];
    const own = k === data.start ? " (the report's)" : "";
    said.textContent = `γ = ${gamma}${own}`;
    slider.setAttribute("aria-valuetext", `gamma ${gamma}`);
    el("which").textContent = layer.note;
    bar(look);
  };

  const bar = (look) => {
    const strip = el("bar");
    strip.width = 256;
    strip.height = 1;
    const pen = strip.getContext("2d");
    for (let i = 0; i < 256; i++) {
      pen.fillStyle = `rgb(${color(look, i / 255).join(",")})`;
      pen.fillRect(i, 0, 1, 1);
    }
  };

  const points = (error) => `${error >= 0 ? "+" : "−"}${Math.abs(error * 100).toFixed(1)} points`;
  const read_out = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * R);
    const row = R - 1 - Math.floor(((event.clientY - box.top) / box.height) * R);
    if (column < 0 || row < 0 || column >= R || row >= R) return;
    const layer = data.layers[+chosen.value];
    const k = +slider.value;
    const at = k * R * R + row * R + column;
    const support = layer.support[at];
    if (support === 0) {
      hover.textContent = "No row is near this place.";
      return;
    }
    const n = Math.expm1(((support - 1) / 254) * data.logSupport);
    const about = n < 9.95 ? n.toFixed(1) : Number(n.toPrecision(2)).toLocaleString("en");
    hover.textContent =
      layer.error[at] === -128
        ? `Hidden: n_eff is about ${about}, fewer than the ${data.least} needed.`
        : `Local error ${points((layer.error[at] / 127) * layer.scale[k])}, ` +
          `n_eff about ${about}.`;
  };

  data.layers.forEach((layer, i) => chosen.add(new Option(layer.name, i)));
  slider.max = data.gammas.length - 1;
  slider.value = data.start;
  for (const control of [slider, chosen, el("outlines")]) control.addEventListener("input", draw);
  canvas.addEventListener("pointermove", read_out);
  canvas.addEventListener("pointerdown", read_out);
  canvas.addEventListener("pointerleave", () => { hover.textContent = hover.dataset.idle; });
  dark.addEventListener("change", draw);
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", () => { printing = true; draw(); });
  window.addEventListener("afterprint", () => { printing = false; draw(); });
  document.documentElement.classList.add("scripted");
  draw();
})();
