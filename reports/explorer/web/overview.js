// Strip over the whole run: operations per second, stalls, and the time range that the panels show.
import { colors, context, once, translucent } from "./paint.js";
import { change, view } from "./view.js";

const HEIGHT = 58;
const STALLS = 10; // height of the row of stalls in px
const GRIP = 9; // distance in px within which an edge of the range can be grasped

// Draw the strip into a canvas, and let a pointer move the instant, the range and its edges.
export function overview(canvas, data) {
  const sides = () => lsmlab.margins();
  const x = (s) => { const { l, r } = sides(); return l + s / data.duration_s * (canvas.clientWidth - l - r); };
  const s = (at) => {
    const { l, r } = sides();
    return Math.min(data.duration_s, Math.max(0, (at - l) / Math.max(1, canvas.clientWidth - l - r) * data.duration_s));
  };
  const draw = once(canvas, () => {
    const { c, width } = context(canvas, HEIGHT);
    curve(c, data, x);
    stalls(c, data, x);
    range(c, x, width);
  });
  grasp(canvas, data, x, s);
  return draw;
}

function curve(c, data, x) {
  const { end_s, writes, reads } = data.curves;
  const total = writes.map((value, i) => value + reads[i]);
  const most = Math.max(1e-9, total.reduce((a, b) => Math.max(a, b || 0), 0));
  const base = HEIGHT - STALLS - 4;
  c.beginPath();
  total.forEach((value, i) => {
    if (Number.isNaN(value)) return; // unknown: a gap
    const [left, right] = [x(i ? end_s[i - 1] : 0), x(end_s[i])];
    c.rect(left, base, right - left, -value / most * (base - 3));
  });
  c.fillStyle = translucent("#009E73", 0.45);
  c.fill();
}

function stalls(c, data, x) {
  const { start_s, end_s, cause } = data.stalls.columns;
  for (const [number, { color, stops }] of data.stalls.causes.entries()) {
    c.fillStyle = color;
    let last = -2;
    for (let row = 0; row < start_s.length; row++) {
      if (cause[row] !== number) continue;
      const left = x(start_s[row]);
      const right = Math.max(x(end_s[row]), left + 1);
      if (right < last + 0.5) continue; // within the pixel of the stall before
      c.fillRect(left, HEIGHT - STALLS + (stops ? 0 : STALLS / 2), right - left, stops ? STALLS : STALLS / 2);
      last = right;
    }
  }
}

function range(c, x, width) {
  const { ground, mark, ink } = colors();
  const [left, right] = [x(view.x0), x(view.x1)];
  c.globalAlpha = 0.55;
  c.fillStyle = ground;
  c.fillRect(0, 0, left, HEIGHT);
  c.fillRect(right, 0, width - right, HEIGHT);
  c.globalAlpha = 1;
  c.strokeStyle = mark;
  c.lineWidth = 1.5;
  c.strokeRect(left, 0.75, right - left, HEIGHT - 1.5);
  c.fillStyle = mark;
  for (const at of [left, right]) c.fillRect(at - 2.5, HEIGHT / 2 - 9, 5, 18);
  c.fillStyle = ink;
  c.fillRect(x(view.t) - 1, 0, 2, HEIGHT);
}

function grasp(canvas, data, x, s) {
  let held = null;
  const at = (event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("pointerdown", (event) => {
    const place = at(event);
    const whole = view.x0 <= 0 && view.x1 >= data.duration_s;
    if (Math.abs(place - x(view.x0)) < GRIP) held = { edge: "x0" };
    else if (Math.abs(place - x(view.x1)) < GRIP) held = { edge: "x1" };
    else if (!whole && place > x(view.x0) && place < x(view.x1)) held = { from: s(place), x0: view.x0, x1: view.x1 };
    else held = { begin: s(place) };
    held.moved = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const now = s(at(event));
    held.moved += Math.abs(event.movementX);
    const least = data.duration_s / 1e5;
    if (held.edge === "x0") change({ x0: Math.min(now, view.x1 - least) });
    else if (held.edge === "x1") change({ x1: Math.max(now, view.x0 + least) });
    else if (held.from !== undefined) {
      const by = Math.min(data.duration_s - held.x1, Math.max(-held.x0, now - held.from));
      change({ x0: held.x0 + by, x1: held.x1 + by });
    } else if (Math.abs(x(now) - x(held.begin)) > 6) change({ x0: Math.min(now, held.begin), x1: Math.max(now, held.begin) });
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && !held.edge && held.moved < 5) change({ t: s(at(event)) });
    held = null;
  });
  canvas.addEventListener("dblclick", () => change({ x0: 0, x1: data.duration_s }));
}
