// How the landscape looks; colours come from the page's theme where it has one.

const STYLE = `
.lore { --ink: #1f2933; --paper: #ffffff; --quiet: #5f6b7a; --line: #e4e7eb; --accent: #0f766e;
  container-type: inline-size;
  color: var(--ink); font: 13px/1.35 var(--st-font, system-ui, sans-serif); }
.lore * { box-sizing: border-box; }
.lore .stage { position: relative; overflow: hidden; width: 100%; height: clamp(230px, 62cqw, max(470px, 100vh - 400px));
  border-radius: 8px; border: 1px solid var(--line); cursor: grab; touch-action: pan-y;
  user-select: none; -webkit-user-select: none; background: var(--paper); }
.lore .stage:focus { outline: 2px solid var(--accent); outline-offset: 1px; touch-action: none; }
.lore .stage.draws { cursor: crosshair; }
.lore .stage.points { cursor: pointer; }
.lore canvas.layer { position: absolute; inset: 0; width: 100%; height: 100%; display: block; }
.lore .inset { position: absolute; left: 10px; bottom: 10px; width: 168px; height: 104px;
  border-radius: 6px; border: 1px solid var(--line);
  background: color-mix(in srgb, var(--paper) 92%, transparent); }
.lore .labels { position: absolute; inset: 0; pointer-events: none; }
.lore .labels > * { position: absolute; left: 0; top: 0; white-space: nowrap; margin: 0; }
.lore .name { padding: 0 3px; font-size: 12px; border-radius: 3px;
  background: color-mix(in srgb, var(--paper) 70%, transparent); }
.lore .glimpse { max-width: 150px; overflow: hidden; text-overflow: ellipsis;
  border: 3px solid var(--error); border-radius: 4px; background: var(--paper); color: var(--ink);
  box-shadow: 0 0 0 1px color-mix(in srgb, var(--ink) 35%, var(--paper)); }
.lore .glimpse.words { padding: 0 4px; font-size: 11px; line-height: 16px; }
.lore .glimpse.image { width: var(--side); height: var(--side); }
.lore .glimpse img { display: block; width: 100%; height: 100%; object-fit: contain;
  image-rendering: pixelated; }
.lore .glimpse.worst { box-shadow: 0 0 0 1.5px var(--ink); }
.lore .glimpse.hot { box-shadow: 0 0 0 3px var(--accent); z-index: 1; }
.lore .glimpse.faint { opacity: 0.3; }
.lore .swipe { position: absolute; top: 0; bottom: 0; width: 16px; margin-left: -8px;
  cursor: ew-resize; touch-action: none;
  background: linear-gradient(var(--ink), var(--ink)) center / 2px 100% no-repeat; }
.lore .grip { position: absolute; top: 50%; left: 50%; width: 40px; height: 40px; margin: -20px;
  border: 2px solid var(--ink); border-radius: 50%; background: var(--paper); color: var(--ink);
  display: grid; place-items: center; font-size: 17px; font-weight: 600; line-height: 1; }
.lore .grip:hover, .lore .grip:focus-visible { border-color: var(--accent); color: var(--accent);
  outline: 2px solid var(--accent); outline-offset: 2px; }
.lore .side { position: absolute; inset: 8px 0 auto 0; pointer-events: none; }
.lore .side1 { text-align: right; padding-right: 52px; }
.lore .side0 { padding-left: 8px; }
.lore .side span { display: inline-block; padding: 2px 8px; border-radius: 6px; font-weight: 600;
  border: 1px solid var(--line); background: color-mix(in srgb, var(--paper) 88%, transparent); }
.lore .place { pointer-events: auto; cursor: pointer; min-width: 20px; padding: 1px 5px; border: 0;
  border-radius: 10px; font: 600 12px/18px inherit; font-family: inherit; color: var(--paper);
  background: var(--ink); }
.lore .place[aria-pressed=true], .lore .place:hover { background: var(--accent); }
.lore button:focus-visible, .lore input:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
.lore .tools { position: absolute; top: 8px; right: 8px; display: flex; flex-direction: column;
  gap: 2px; padding: 3px; border-radius: 8px; border: 1px solid var(--line);
  background: color-mix(in srgb, var(--paper) 88%, transparent); }
.lore .tools button { width: 28px; height: 28px; padding: 0; border: 0; border-radius: 6px;
  background: none; color: var(--ink); font-size: 15px; line-height: 1; cursor: pointer; }
.lore .tools button:hover { background: var(--line); }
.lore .tools button[aria-pressed=true] { background: var(--accent); color: var(--paper); }
.lore .tools svg { width: 16px; height: 16px; vertical-align: middle; fill: none;
  stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
@container (max-width: 300px) { .lore .tools { flex-direction: row; }
  .lore .tools button { width: 22px; height: 22px; } }
.lore .hover { position: absolute; z-index: 2; max-width: 260px; padding: 6px 9px; font-size: 12px;
  border-radius: 6px; border: 1px solid var(--line); background: var(--paper); color: var(--ink);
  box-shadow: 0 2px 10px rgb(0 0 0 / 18%); pointer-events: none; overflow-wrap: anywhere; }
.lore .hover b { font-weight: 600; }
.lore .hover img { display: block; float: right; margin: 0 0 4px 8px; width: 64px; height: 64px;
  object-fit: contain; image-rendering: pixelated; }
.lore .gamma { display: flex; flex-wrap: wrap; align-items: center; gap: 10px; margin: 0 2px 8px; }
.lore .gamma button { flex: none; width: 32px; height: 32px; padding: 0; border-radius: 50%;
  border: 1px solid var(--line); background: none; color: var(--accent); cursor: pointer; }
.lore .gamma button:hover { background: var(--line); }
.lore .gamma svg { width: 14px; height: 14px; fill: currentColor; vertical-align: middle; }
.lore .gamma select { font: inherit; max-width: 100%; padding: 2px 4px; border-radius: 4px;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); }
.lore .track { position: relative; flex: 1 1 auto; height: 54px; min-width: 120px; }
.lore .track canvas { position: absolute; inset: 0; width: 100%; height: 40px; }
.lore .track input { position: absolute; left: 0; bottom: 0; width: 100%; height: 16px; margin: 0;
  accent-color: var(--accent); cursor: ew-resize; }
.lore .track .dot { position: absolute; left: -3px; top: -3px; width: 6px; height: 6px;
  border-radius: 50%; background: var(--ink); }
.lore .track .bar { position: absolute; left: 0; bottom: -3px; width: 0; height: 2px;
  background: var(--accent); opacity: 0.5; }
.lore .gamma output { flex: 0 0 200px; height: 36px; line-height: 18px; white-space: pre-line;
  font-variant-numeric: tabular-nums; }
@container (max-width: 560px) { .lore .gamma output { flex-basis: 100%; } }
.lore .below { display: flex; flex-wrap: wrap; gap: 4px 18px; align-items: flex-start;
  justify-content: space-between; margin-top: 6px; color: var(--quiet); font-size: 12px; }
.lore .below .said { flex: 1 1 220px; }
.lore .scale { position: relative; flex: 0 1 280px; min-width: 200px; padding-bottom: 30px; }
.lore .scale canvas { display: block; width: 100%; height: 9px; border-radius: 4px; }
.lore .scale span { position: absolute; top: 11px; transform: translateX(-50%); white-space: pre;
  text-align: center; line-height: 1.15; font-size: 11px; }
.lore .scale span:first-of-type { transform: none; text-align: left; }
.lore .scale span:last-of-type { transform: translateX(-100%); text-align: right; }
.lore .scale.names { flex: 0 1 auto; display: flex; flex-wrap: wrap; gap: 2px 12px; padding: 0; }
.lore .scale.names span { position: static; transform: none; }
.lore .scale i { display: inline-block; width: 10px; height: 10px; margin-right: 4px;
  border-radius: 3px; }
.lore [hidden] { display: none; }
@media (prefers-reduced-motion: no-preference) {
  .lore .tools button, .lore .place { transition: background 0.12s; }
}
`;
