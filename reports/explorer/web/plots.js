// Plotly figures over time in the explorer: they follow the shared range, show the instant as a line, and choose it.
import { stallLines, stallsAt } from "./model.js";
import { tooltip } from "./panel.js";
import { change, view } from "./view.js";

// Link the figures over time to the view; return functions that bring them to the present range and instant.
export function linkPlots(data) {
  const figures = lsmlab.timelines.map((figure) => ({ figure, div: lsmlab.node(figure.id), line: null, seen: false, range: "" }));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) figures.find((one) => one.div === entry.target).seen = entry.isIntersecting;
    update();
  }, { rootMargin: "200px" });
  for (const one of figures) {
    one.line = document.createElement("div");
    one.line.className = "cursor";
    one.line.hidden = true;
    one.div.parentElement.classList.add("linked");
    one.div.after(one.line);
    one.div.dataset.keys = "";
    point(data, one.div);
  }
  let busy = false;
  lsmlab.whenDrawn((figure) => {
    const one = figures.find((each) => each.figure === figure);
    if (!one) return;
    one.range = String(lsmlab.shared.range);
    one.div.on("plotly_relayout", (moved) => { if (!busy) zoomed(data, lsmlab.newRange(moved)); });
    seen.observe(one.div);
    moveLine(one);
  });

  let timer = 0;
  function update() {
    lsmlab.shared.range = [view.x0, view.x1];
    for (const one of figures) moveLine(one);
    clearTimeout(timer);
    timer = setTimeout(relayout, 90);
  }
  async function relayout() {
    const range = [view.x0, view.x1];
    for (const one of figures) {
      if (!one.seen || one.range === String(range)) continue;
      one.range = String(range);
      busy = true;
      await Plotly.relayout(one.div, { "xaxis.range": range });
      busy = false;
      moveLine(one);
    }
  }
  lsmlab.repainted.push(() => { for (const one of figures) one.range = String(lsmlab.shared.range); update(); });
  return { update, lines: () => figures.forEach(moveLine) };
}

// Let a pointer over a figure name the stall there, and a click choose the instant and the stall.
function point(data, div) {
  let pressed = null;
  const secondsAt = (event) => {
    const { l, r } = lsmlab.margins();
    const x = (event.clientX - div.getBoundingClientRect().left - l) / Math.max(1, div.clientWidth - l - r);
    return x < 0 || x > 1 ? -1 : view.x0 + x * (view.x1 - view.x0);
  };
  const near = () => 2 * (view.x1 - view.x0) / Math.max(1, div.clientWidth);
  div.addEventListener("pointermove", (event) => {
    const s = secondsAt(event);
    const rows = s < 0 ? [] : stallsAt(data, s, near());
    const top = div.getBoundingClientRect().top;
    tooltip({ clientX: event.clientX, clientY: Math.max(0, top - 30) }, rows.length ? stallLines(data, rows) : null);
  });
  div.addEventListener("pointerleave", () => tooltip(null, null));
  div.addEventListener("pointerdown", (event) => {
    pressed = event.target.closest(".modebar, .legend") ? null : [event.clientX, event.clientY];
  });
  window.addEventListener("pointerup", (event) => {
    const s = secondsAt(event);
    const still = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < 5;
    pressed = null;
    if (!still || s < 0) return;
    const [stall = -1] = stallsAt(data, s, near());
    change({ t: s, stall, job: -1, group: -1 });
  });
}

function zoomed(data, range) {
  if (range === undefined) return;
  const [x0, x1] = range || [0, data.duration_s];
  change({ x0: Math.max(0, x0), x1: Math.min(data.duration_s, x1) });
}

// Put the line of the instant above a figure, without drawing the figure again.
function moveLine({ div, line }) {
  const axes = div._fullLayout;
  line.hidden = !axes || view.t < view.x0 || view.t > view.x1;
  if (line.hidden) return;
  const { l, t, b, h } = axes._size;
  const { r } = lsmlab.margins();
  const x = l + (view.t - view.x0) / Math.max(1e-9, view.x1 - view.x0) * (div.clientWidth - l - r);
  Object.assign(line.style, { left: `${div.offsetLeft + x}px`, top: `${div.offsetTop + t}px`, height: `${h || div.clientHeight - t - b}px` });
}
