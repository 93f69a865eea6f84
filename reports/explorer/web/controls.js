// Buttons, list of stalls, keys and the address of the page.
import { instant } from "./format.js";
import { chosenJobs, eventsAt, stepFrom } from "./model.js";
import { change, fromAddress, onChange, toAddress, view } from "./view.js";

const { node } = lsmlab;

// Choose a stall (row; -1: none) and show its time with its chain.
export function chooseStall(data, row, group = -1) {
  if (row < 0) return change({ stall: -1, job: -1, group: -1, x0: 0, x1: data.duration_s });
  const { start_s, end_s } = data.stalls.columns;
  const { start_s: from, end_s: until } = data.jobs.columns;
  const jobs = chosenJobs(data, { job: -1, group, stall: row });
  const low = jobs.reduce((least, job) => Math.min(least, from[job]), start_s[row]);
  const high = jobs.reduce((most, job) => Math.max(most, until[job]), end_s[row]);
  const margin = Math.max(0.06 * (high - low), 1e-3);
  return change({ stall: row, job: -1, group, t: start_s[row], x0: Math.max(0, low - margin), x1: Math.min(data.duration_s, high + margin) });
}

// Choose a group of stalls: its costliest stall.
export function chooseGroup(data, number) {
  const group = data.stalls.groups[number];
  if (!group || !group.stalls.length) return;
  const { rank } = data.stalls.columns;
  chooseStall(data, group.stalls.reduce((best, row) => (rank[row] < rank[best] ? row : best)), number);
}

// Let time pass: simulated seconds per second of the reader.
function play(data) {
  let before = 0;
  const frame = (now) => {
    if (!view.playing) return;
    const passed = before ? (now - before) / 1000 : 0;
    before = now;
    const t = Math.min(data.duration_s, view.t + passed * view.speed);
    const moved = t > view.x1 ? { x0: Math.min(data.duration_s - (view.x1 - view.x0), t), x1: Math.min(data.duration_s, t + view.x1 - view.x0) } : {};
    change({ t, ...moved, playing: t < data.duration_s });
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

export function toggle(data) {
  if (view.playing) return change({ playing: false });
  change({ playing: true, t: view.t >= data.duration_s ? 0 : view.t });
  return play(data);
}

// Go to the next or previous event; the range follows.
export function step(data, direction) {
  const t = stepFrom(data, view.t, direction);
  const span = view.x1 - view.x0;
  const x0 = t < view.x0 || t > view.x1 ? Math.min(Math.max(0, t - span / 2), data.duration_s - span) : view.x0;
  change({ t, x0, x1: x0 + span, playing: false });
}

function zoom(data, factor) {
  const span = Math.min(data.duration_s, Math.max(data.duration_s / 1e5, (view.x1 - view.x0) * factor));
  const middle = view.t >= view.x0 && view.t <= view.x1 ? view.t : (view.x0 + view.x1) / 2;
  const share = (middle - view.x0) / Math.max(1e-9, view.x1 - view.x0);
  const x0 = Math.min(Math.max(0, middle - share * span), data.duration_s - span);
  change({ x0, x1: x0 + span });
}

function pan(data, share) {
  const span = view.x1 - view.x0;
  const x0 = Math.min(Math.max(0, view.x0 + share * span), data.duration_s - span);
  change({ x0, x1: x0 + span });
}

function nextStall(data, direction) {
  const rows = data.stalls.listed.map((one) => one.row);
  if (!rows.length) return;
  const place = rows.indexOf(view.stall);
  chooseStall(data, rows[Math.min(rows.length - 1, Math.max(0, place < 0 ? 0 : place + direction))]);
}

const KEYS = {
  " ": toggle, ArrowRight: (d) => step(d, 1), ArrowLeft: (d) => step(d, -1), "+": (d) => zoom(d, 0.5), "=": (d) => zoom(d, 0.5),
  "-": (d) => zoom(d, 2), 0: (d) => change({ x0: 0, x1: d.duration_s }), PageDown: (d) => pan(d, 0.5), PageUp: (d) => pan(d, -0.5),
  "]": (d) => nextStall(d, 1), "[": (d) => nextStall(d, -1), Home: (d) => change({ t: 0 }), End: (d) => change({ t: d.duration_s }),
  Escape: (d) => change({ stall: -1, job: -1, group: -1 }),
};

// Connect buttons, keys and the address of the page to the view.
export function connect(data) {
  const on = (id, name, react) => { const found = node(id); if (found) found.addEventListener(name, react); };
  on("play", "click", () => toggle(data));
  on("step-back", "click", () => step(data, -1));
  on("step-on", "click", () => step(data, 1));
  on("whole", "click", () => change({ x0: 0, x1: data.duration_s }));
  on("speed", "change", () => change({ speed: Number(node("speed").value) }));
  on("instant", "change", () => { const t = Number(node("instant").value); if (t >= 0 && t <= data.duration_s) change({ t }); });
  on("tree-choice", "change", () => change({ tree: Number(node("tree-choice").value) }));
  on("stall", "change", () => chooseStall(data, Number(node("stall").value)));
  on("previous", "click", () => nextStall(data, -1));
  on("next", "click", () => nextStall(data, 1));
  for (const button of document.querySelectorAll("[data-stall-group]")) {
    button.addEventListener("click", () => { chooseGroup(data, Number(button.dataset.stallGroup)); node("explorer").scrollIntoView(); });
  }
  for (const chart of document.querySelectorAll("[data-keys]")) {
    chart.addEventListener("keydown", (event) => {
      const react = KEYS[event.key];
      if (!react || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      react(data);
    });
  }
  followAddress(data);
  onChange((names) => showControls(data, names));
  showControls(data, new Set(Object.keys(view)));
}

function showControls(data, names) {
  if (names.has("playing")) {
    node("play").textContent = view.playing ? "❚❚ Pause" : "▶ Play";
    node("play").setAttribute("aria-pressed", String(view.playing));
  }
  if (names.has("t")) {
    if (document.activeElement !== node("instant")) node("instant").value = Number(view.t.toFixed(4));
    node("instant").dataset.exact = String(view.t);
    node("happens").textContent = view.playing ? "" : eventsAt(data, view.t).slice(0, 3).join("; ");
  }
  if (names.has("stall") && node("stall")) {
    const listed = data.stalls.listed.some((one) => one.row === view.stall);
    node("stall").value = listed ? String(view.stall) : "-1";
  }
  if (names.has("speed")) node("speed").value = String(view.speed);
  if (names.has("tree") && node("tree-choice")) node("tree-choice").value = String(view.tree);
  if (names.has("x0") || names.has("x1")) node("shown").textContent = `${instant(view.x0)} to ${instant(view.x1)}`;
}

// Keep the address of the page up to date, so that a link to it restores the view.
function followAddress(data) {
  const { job, shard } = data.jobs.columns;
  const nameOf = (place) => `${shard ? shard[place] : 0}.${job[place]}`;
  const placeOf = (name) => { for (let i = 0; i < data.jobs.count; i++) if (nameOf(i) === name) return i; return -1; };
  const restore = () => change(fromAddress(window.location.hash, data, placeOf));
  let timer = 0;
  onChange(() => {
    if (view.playing) return;
    clearTimeout(timer);
    timer = setTimeout(() => window.history.replaceState(null, "", `#${toAddress(view, data.duration_s, nameOf)}`), 200);
  });
  window.addEventListener("hashchange", restore);
  if (window.location.hash.includes("=")) restore();
}

// Scroll to a section without changing the address, and mark the section that is read in the table of contents.
export function contents() {
  const links = [...document.querySelectorAll("#contents a")];
  const places = links.map((link) => document.querySelector(link.getAttribute("href")));
  const bar = node("time-bar");
  new ResizeObserver(() => lsmlab.root.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);
  links.forEach((link, i) => link.addEventListener("click", (event) => {
    event.preventDefault();
    if (places[i]) places[i].scrollIntoView();
  }));
  let waiting = false;
  const mark = () => {
    waiting = false;
    const edge = bar.offsetHeight + 120;
    let current = 0;
    places.forEach((place, i) => { if (place && place.getBoundingClientRect().top < edge) current = nearer(places, current, i); });
    links.forEach((link, i) => { if (i === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current"); });
  };
  window.addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
  mark();
}

// Return which of two sections begins further down the page.
function nearer(places, one, other) {
  return places[other].getBoundingClientRect().top >= places[one].getBoundingClientRect().top ? other : one;
}
