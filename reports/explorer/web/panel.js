// Canvas panels over time: the axis that all panels share, pointing, clicking, and dragging a range to zoom.
import { change, view } from "./view.js";
import { colors, text, ticks } from "./paint.js";

// Return the mapping between seconds and pixels of a canvas of this width.
export function timeScale(width) {
  const { l, r } = lsmlab.margins();
  const span = Math.max(1e-9, view.x1 - view.x0);
  const room = Math.max(1, width - l - r);
  return { left: l, right: width - r, x: (s) => l + (s - view.x0) / span * room, s: (x) => view.x0 + (x - l) / room * span };
}

// Draw the time axis below `y`, and its grid up to `top`.
export function timeAxis(c, scale, top, y, label) {
  const { rule, soft } = colors();
  const span = scale.right - scale.left;
  c.strokeStyle = rule;
  c.lineWidth = 1;
  c.beginPath();
  for (const s of ticks(view.x0, view.x1, span / 110)) {
    const x = Math.round(scale.x(s)) + 0.5;
    c.moveTo(x, top);
    c.lineTo(x, y + 4);
    text(c, s.toLocaleString("en", { maximumFractionDigits: 6 }), x, y + 14, { align: "center", color: soft });
  }
  c.moveTo(scale.left, y + 0.5);
  c.lineTo(scale.right, y + 0.5);
  c.stroke();
  if (label) text(c, label, (scale.left + scale.right) / 2, y + 32, { align: "center" });
}

// Draw the chosen instant as a line from `top` to `bottom`.
export function cursor(c, scale, top, bottom) {
  if (view.t < view.x0 || view.t > view.x1) return;
  c.strokeStyle = colors().ink;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(scale.x(view.t), top);
  c.lineTo(scale.x(view.t), bottom);
  c.stroke();
}

// Let a canvas over time react to a pointer: `hover(x, y)` returns the lines of a tooltip or null, `click(x, y, s)` reacts to
// a click. Dragging zooms into a range, a double click shows the whole run.
export function listen(canvas, whole, { hover, click }) {
  let from = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const clamp = (s) => Math.min(whole, Math.max(0, s));
  canvas.addEventListener("pointerdown", (event) => { from = event.button === 0 ? place(event)[0] : null; });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (from !== null && event.buttons && Math.abs(x - from) > 4) band(canvas, from, x);
    tooltip(event, hover(x, y));
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    const scale = timeScale(canvas.clientWidth);
    if (from !== null && Math.abs(x - from) > 8) {
      const [x0, x1] = [scale.s(Math.min(from, x)), scale.s(Math.max(from, x))].map(clamp);
      if (x1 > x0) change({ x0, x1 });
    } else if (from !== null) click(x, y, clamp(scale.s(x)));
    from = null;
    band(canvas);
  });
  canvas.addEventListener("pointerleave", () => { tooltip(null, null); from = null; band(canvas); });
  canvas.addEventListener("dblclick", () => change({ x0: 0, x1: whole }));
}

// Show the range that is being dragged.
function band(canvas, from, to) {
  const mark = canvas.parentElement.querySelector(".band");
  mark.hidden = from === undefined;
  if (from === undefined) return;
  Object.assign(mark.style, { left: `${canvas.offsetLeft + Math.min(from, to)}px`, width: `${Math.abs(to - from)}px`,
                              top: `${canvas.offsetTop}px`, height: `${canvas.clientHeight}px` });
}

// Show lines of text beside the pointer; hide the tooltip without lines.
export function tooltip(event, lines) {
  const box = lsmlab.node("tooltip");
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(...lines.map((line, i) => {
    const row = document.createElement("div");
    if (i === 0) row.className = "first";
    row.textContent = line;
    return row;
  }));
  const left = event.clientX + 16 + box.offsetWidth > window.innerWidth ? event.clientX - 16 - box.offsetWidth : event.clientX + 16;
  const top = Math.min(event.clientY + 14, window.innerHeight - box.offsetHeight - 6);
  Object.assign(box.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, top)}px` });
}
