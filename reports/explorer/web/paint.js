// Canvas helpers: sharp lines on any screen, colours of the theme, patterns that need no colour.

// Return the drawing context of a canvas whose size follows its place on the page, in CSS pixels.
export function context(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth || canvas.parentElement.clientWidth;
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = `${lsmlab.narrow() ? 11 : 13}px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif`;
  c.textBaseline = "middle";
  return { c, width, height };
}

let theme = {};
// Return the colours of the theme.
export function colors() {
  if (theme.name !== lsmlab.root.dataset.theme) {
    theme = { name: lsmlab.root.dataset.theme, patterns: new Map() };
    for (const name of ["ink", "soft", "rule", "card", "mark", "ground", "chain"]) theme[name] = lsmlab.css(`--${name}`);
  }
  return theme;
}

// Return a "#rrggbb" colour with an opacity.
export function translucent(color, opacity) {
  const part = (i) => parseInt(color.slice(i, i + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${opacity})`;
}

// Return a pattern of diagonal stripes in a colour: inputs of a running compaction, unfinished jobs, slices.
export function stripes(c, color) {
  const { patterns } = colors();
  if (!patterns.has(color)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d");
    t.strokeStyle = color;
    t.lineWidth = 1.1;
    t.globalAlpha = 0.75;
    t.beginPath();
    for (const x of [-3, 3]) { t.moveTo(x, 6); t.lineTo(x + 6, 0); }
    t.stroke();
    patterns.set(color, c.createPattern(tile, "repeat"));
  }
  return patterns.get(color);
}

// Draw a text; cut it so that it fits a width. A number at its end stays: it tells texts apart.
export function text(c, words, x, y, { align = "left", color, most = Infinity, weight = "" } = {}) {
  c.fillStyle = color || colors().ink;
  c.textAlign = align;
  const font = c.font;
  if (weight) c.font = `${weight} ${font}`;
  const [end] = words.match(/ \d+$/) || [""];
  let head = words.slice(0, words.length - end.length);
  let shown = words;
  while (head.length > 1 && c.measureText(shown).width > most) {
    head = head.slice(0, -1);
    shown = `${head}…${end}`;
  }
  if (head.length > 1 || words.length <= 1) c.fillText(shown, x, y);
  c.font = font;
}

// Return about `wanted` round ticks of an axis between two values.
export function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12); i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

// Return a function that draws at most once per frame, and keeps the longest time of a frame in ms (`dataset.frame`).
// Before the page is printed it draws at once: there is no further frame.
export function once(canvas, draw) {
  let waiting = false;
  return () => {
    if (lsmlab.printing()) draw();
    if (waiting || lsmlab.printing()) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const begin = performance.now();
      draw();
      canvas.dataset.frame = (performance.now() - begin).toFixed(1);
    });
  };
}
