// The LSM tree at the chosen instant: files as boxes over the key range, levels against their targets.
import { blobFiles, blobLines } from "./blobs.js";
import { bytes, percent, plural } from "./format.js";
import { memory } from "./memory.js";
import { BLOB, busyWith, chosenJobs, filesOf, jobName, SLICE, stacked, targetAt, treeAt } from "./model.js";
import { colors, context, once, stripes, text, translucent } from "./paint.js";
import { tooltip } from "./panel.js";
import { change, view } from "./view.js";

const GAP = 10; // px between levels
const MEMORY = 32; // height of the row of memtables in px
const FROZEN_LEVEL = -1;
const BLOBS = 34; // height of the row of blob files in px

// Draw the tree into a canvas; `tell` gets the state in words after each drawing.
export function treePanel(canvas, data, tell) {
  const shape = shapeOf(data);
  const apart = data.tree.stays.kind.includes(BLOB);
  const boxes = [];
  const draw = once(canvas, () => {
    boxes.length = 0;
    const state = treeAt(data.tree, view.t, view.tree);
    const height = MEMORY + GAP + [...shape.values()].reduce((sum, level) => sum + level.height + GAP, 0) + 30 + (apart ? BLOBS + GAP : 0);
    const { c, width } = context(canvas, height);
    const left = lsmlab.narrow() ? 92 : 210;
    const place = { left, right: width - lsmlab.margins().r, wide: !lsmlab.narrow() };
    const marked = markedFiles(data);
    const words = [memory(c, data, { ...place, top: 2, height: MEMORY - 4, label: place.wide })];
    let top = MEMORY + GAP;
    for (const [level, { height: room }] of shape) {
      const rows = level === FROZEN_LEVEL ? state.frozen : state.levels.get(level) || [];
      words.push(levelLabel(c, data, level, rows, top, room, place));
      drawLevel(c, data, { level, rows, top, room, place, state, marked, boxes });
      top += room + GAP;
    }
    keyAxis(c, place, top);
    if (apart) words.push(blobFiles(c, data, { rows: state.blobs, top: top + 24, room: BLOBS, place, marked, boxes }));
    tell(words.filter(Boolean).join("; "));
  });
  listenToFiles(canvas, data, boxes);
  return draw;
}

// Return the height of each level in px, for the largest number of files that it has at some time.
function shapeOf(data) {
  const { stays, edits } = data.tree;
  const levels = new Set([0]);
  stays.level.forEach((level, row) => { if (stays.kind[row] !== SLICE && stays.kind[row] !== BLOB) levels.add(level < 0 ? FROZEN_LEVEL : level); });
  const most = new Map([...levels].map((level) => [level, 1]));
  const count = edits.time_s.length;
  const samples = Math.min(60, Math.max(8, Math.round(5e5 / stays.birth.length)));
  for (let i = 1; i <= samples; i++) {
    const at = edits.time_s[Math.min(count - 1, Math.floor(count * i / samples))];
    for (let which = 0; which < data.tree.names.length; which++) {
      for (const [level, rows] of treeAt(data.tree, at, which).levels) {
        const lines = level === 0 ? rows.length : stacked(stays, rows).length;
        most.set(level, Math.max(most.get(level), lines));
      }
    }
  }
  const order = [...levels].sort((a, b) => (a < 0) - (b < 0) || a - b);
  return new Map(order.map((level) => [level, { height: Math.min(150, level === 0 ? Math.max(34, most.get(0) * 10)
    : Math.max(34, most.get(level) * 12)) }]));
}

// Return the files of the chosen job or chain: row of a stay -> "in" or "out".
function markedFiles(data) {
  const found = new Map();
  for (const job of chosenJobs(data, view).slice(0, 400)) {
    const { inputs, outputs } = filesOf(data, job);
    for (const row of outputs) found.set(row, "out");
    for (const row of inputs) found.set(row, "in");
  }
  return found;
}

function levelLabel(c, data, level, rows, top, room, place) {
  const { soft } = colors();
  const size = rows.reduce((sum, row) => sum + data.tree.stays.bytes[row], 0);
  const name = level === FROZEN_LEVEL ? "frozen" : `L${level}`;
  const files = `${plural(rows.length, "file")}`;
  const y = top + Math.min(room / 2, 17);
  text(c, name, 4, y - 8, { weight: "600" });
  text(c, place.wide ? `${files}, ${bytes(size)}` : bytes(size), place.wide ? 60 : 34, y - 8, { color: soft, most: place.left - 40 });
  const words = gauge(c, data, level, rows.length, size, y + 8, place);
  return `${name} ${files}${words ? ` (${words})` : ""}`;
}

// Draw how full a level is against its target, or L0 against its triggers; return it in words.
function gauge(c, data, level, files, size, y, place) {
  const { ink, rule } = colors();
  const wide = place.wide ? 92 : 30;
  const stop = data.options.level0_stop_writes_trigger;
  const slow = data.options.level0_slowdown_writes_trigger;
  const target = level > 0 ? targetAt(data, level, view.t, view.tree) : stop;
  if (!(target > 0) || target > 1e15 || (level === 0 && target > 1000) || level === FROZEN_LEVEL) return "";
  const share = (level ? size : files) / target;
  const top = level ? 1.5 : 1;
  c.fillStyle = translucent(data.level_colors[level] || "#7A8B99", 0.8);
  c.fillRect(4, y - 5, wide * Math.min(1, share / top), 10);
  c.strokeStyle = rule;
  c.strokeRect(4.5, y - 5.5, wide, 11);
  c.fillStyle = ink;
  const marks = level ? [1] : [data.options.level0_file_num_compaction_trigger / stop, slow / stop, 1];
  for (const mark of marks) if (mark > 0 && mark <= top) c.fillRect(4 + wide * mark / top - 1, y - 7, 2, 14);
  const words = level ? `${percent(share)} of target` : files >= stop ? "stop" : files >= slow ? "slowdown" : `slowdown at ${slow}`;
  text(c, words, wide + 12, y, { color: colors().soft, most: place.left - wide - 18 });
  return words;
}

function drawLevel(c, data, { level, rows, top, room, place, state, marked, boxes }) {
  const { stays } = data.tree;
  const { rule } = colors();
  c.strokeStyle = rule;
  c.lineWidth = 1;
  c.strokeRect(place.left - 0.5, top - 0.5, place.right - place.left + 1, room + 1);
  const lines = level === 0 ? rows.map((row) => [row]) : stacked(stays, rows);
  const most = level === 0 ? 12 : 30;
  const height = Math.min(most, room / Math.max(1, lines.length));
  const x = (key) => place.left + key / 65535 * (place.right - place.left);
  const color = level === FROZEN_LEVEL ? "#6C7A86" : data.level_colors[level % data.level_colors.length];
  const fills = { color, idle: translucent(color, 0.5), busy: translucent(color, 0.85) };
  lines.forEach((line, i) => {
    let last = -1;
    for (const row of line) {
      const left = x(stays.smallest[row]);
      const box = { row, x: left, y: top + i * height, w: Math.max(1, x(stays.largest[row]) - left), h: Math.max(1, height - 1) };
      boxes.push(box);
      const job = busyWith(data, row, view.t);
      if (job < 0 && left + box.w < last + 0.5 && !marked.has(row)) continue; // within the pixel of the file before
      last = left + box.w;
      drawFile(c, level, box, marked.get(row), job, fills);
      for (const slice of state.slices.get(stays.number[row]) || []) drawSlice(c, data, slice, box, x);
    }
  });
}

function drawFile(c, level, box, mark, job, { color, idle, busy }) {
  const { ink, chain, card } = colors();
  c.fillStyle = job >= 0 ? busy : idle;
  c.fillRect(box.x, box.y, box.w, box.h);
  if (job >= 0 || level === FROZEN_LEVEL) {
    c.fillStyle = stripes(c, job >= 0 ? ink : card);
    c.fillRect(box.x, box.y, box.w, box.h);
  }
  if (box.w > 3) {
    c.strokeStyle = job >= 0 ? ink : color;
    c.lineWidth = 1;
    c.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
  }
  if (!mark) return;
  c.strokeStyle = chain;
  c.lineWidth = Math.min(2.5, Math.max(1, box.h / 6));
  c.setLineDash(mark === "out" ? [4, 3] : []);
  c.strokeRect(box.x + 1, box.y + 1, Math.max(2, box.w - 2), Math.max(1, box.h - 2));
  c.setLineDash([]);
}

// Draw a slice of a frozen file at the bottom of the file that it is linked to.
function drawSlice(c, data, slice, box, x) {
  const left = Math.max(box.x, x(data.tree.stays.smallest[slice]));
  const right = Math.min(box.x + box.w, Math.max(left + 1, x(data.tree.stays.largest[slice])));
  c.fillStyle = colors().card;
  c.fillRect(left, box.y + box.h * 0.6, right - left, box.h * 0.4 - 1);
  c.fillStyle = stripes(c, colors().ink);
  c.fillRect(left, box.y + box.h * 0.6, right - left, box.h * 0.4 - 1);
}

function keyAxis(c, place, top) {
  const { soft } = colors();
  const middle = (place.left + place.right) / 2;
  text(c, "first key", place.left, top + 2, { color: soft });
  text(c, "last key", place.right, top + 2, { color: soft, align: "right" });
  text(c, place.wide ? "key range (share of the key space)" : "key range", middle, top + 2, { align: "center" });
}

function listenToFiles(canvas, data, boxes) {
  const hit = (event) => {
    const place = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    return boxes.findLast((b) => x >= b.x - 1 && x <= b.x + b.w + 1 && y >= b.y && y <= b.y + b.h + 1);
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = hit(event);
    tooltip(event, box ? fileLines(data, box.row) : null);
  });
  canvas.addEventListener("pointerleave", () => tooltip(null, null));
  canvas.addEventListener("click", (event) => {
    const box = hit(event);
    if (!box) return change({ job: -1 });
    const job = busyWith(data, box.row, view.t);
    const made = data.tree.edits.job[data.tree.stays.birth[box.row]];
    return change({ job: job >= 0 ? job : made, group: -1, stall: -1 });
  });
}

// Return the lines of a file's tooltip.
export function fileLines(data, row) {
  if (data.tree.stays.kind[row] === BLOB) return blobLines(data, row);
  const { stays, edits, key_top: keyTop } = data.tree;
  const key = (value) => percent(value / 65535 * keyTop);
  const made = edits.job[stays.birth[row]];
  const busy = busyWith(data, row, view.t);
  const linked = (treeAt(data.tree, view.t, view.tree).slices.get(stays.number[row]) || []).length;
  const where = stays.level[row] < 0 ? "frozen" : `L${stays.level[row]}`;
  const lines = [`file ${stays.number[row]} in ${where}: ${bytes(stays.bytes[row])}`,
                 `keys from ${key(stays.smallest[row])} to ${key(stays.largest[row])} of the key space`,
                 made >= 0 ? `written by ${jobName(data, made)}` : "there at the start of the run"];
  if (linked) lines.push(`${plural(linked, "linked slice")}`);
  if (busy >= 0) lines.push(`input of ${jobName(data, busy)}, which runs now`);
  return lines;
}
