// Background jobs by thread: one bar per job, in the colour of its kind and levels.
import { bytes, instant, seconds } from "./format.js";
import { chosenJobs, jobName, stallLines, stallsAt } from "./model.js";
import { colors, context, once, stripes, text } from "./paint.js";
import { cursor, listen, timeAxis, timeScale } from "./panel.js";
import { change, view } from "./view.js";

const TOP = 6;
const AXIS = 46; // height of the time axis with its title in px

// Draw the jobs into a canvas.
export function gantt(canvas, data) {
  const height = Math.min(24, Math.max(8, 340 / Math.max(1, data.lanes.length)));
  const bottom = TOP + height * data.lanes.length;
  const longest = data.lanes.map((lane) => longestUntil(data, lane));
  const draw = once(canvas, () => {
    const { c, width } = context(canvas, bottom + AXIS);
    const scale = timeScale(width);
    timeAxis(c, scale, TOP, bottom, data.time_label);
    stallBands(c, data, scale, bottom);
    const chain = new Set(chosenJobs(data, view));
    c.save();
    c.beginPath();
    c.rect(scale.left, 0, scale.right - scale.left, bottom + 2);
    c.clip();
    data.lanes.forEach((lane, i) => bars(c, data, { lane, longest: longest[i], scale, y: TOP + i * height, height: height - 2, chain }));
    cursor(c, scale, TOP, bottom);
    c.restore();
    const most = scale.left - 8;
    const long = data.jobs.lanes.some((name) => c.measureText(name).width > most);
    data.jobs.lanes.forEach((name, i) => text(c, long ? name.replace("compaction", "comp.") : name, scale.left - 6,
                                              TOP + (i + 0.5) * height - 1, { align: "right", color: colors().soft, most }));
  });
  const at = (x, y) => jobAt(data, longest, timeScale(canvas.clientWidth), x, Math.floor((y - TOP) / height));
  listen(canvas, data.duration_s, {
    hover: (x, y) => {
      const job = at(x, y);
      if (job >= 0) return jobLines(data, job);
      const scale = timeScale(canvas.clientWidth);
      const stalls = x < scale.left || x > scale.right ? [] : stallsAt(data, scale.s(x), scale.s(2) - scale.s(0));
      return stalls.length ? stallLines(data, stalls) : null;
    },
    click: (x, y, s) => {
      const job = at(x, y);
      if (job >= 0) change({ job, stall: -1, group: -1 });
      else {
        const [stall = -1] = stallsAt(data, s);
        change({ t: s, job: -1, stall, group: -1 });
      }
    },
  });
  return draw;
}

// Return the longest time of the jobs of a lane, from the start of a job to its end: a search need not look further back.
function longestUntil(data, lane) {
  const { start_s, end_s } = data.jobs.columns;
  return lane.reduce((most, job) => Math.max(most, end_s[job] - start_s[job]), 0);
}

// Return the first place in a lane whose job may reach into the time after `from`.
function firstIn(data, lane, longest, from) {
  const { start_s } = data.jobs.columns;
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start_s[lane[middle]] < from - longest) low = middle + 1; else high = middle;
  }
  return low;
}

function stallBands(c, data, scale, bottom) {
  const { start_s, end_s, cause } = data.stalls.columns;
  for (const [number, { color, stops }] of data.stalls.causes.entries()) {
    c.fillStyle = color;
    c.globalAlpha = stops ? 0.28 : 0.16;
    let last = -1;
    for (let row = 0; row < start_s.length; row++) {
      if (cause[row] !== number || end_s[row] < view.x0 || start_s[row] > view.x1) continue;
      const left = Math.max(scale.left, scale.x(start_s[row]), last);
      const right = Math.min(scale.right, Math.max(scale.x(end_s[row]), left + 0.6));
      if (right <= last) continue;
      c.fillRect(left, TOP, right - left, bottom - TOP);
      last = right;
    }
  }
  c.globalAlpha = 1;
  if (view.stall < 0) return;
  const x0 = Math.max(scale.left, scale.x(start_s[view.stall]));
  const x1 = Math.min(scale.right, scale.x(end_s[view.stall]));
  c.strokeStyle = colors().chain;
  c.lineWidth = 1.5;
  c.setLineDash([4, 3]);
  c.strokeRect(x0, TOP, Math.max(1, x1 - x0), bottom - TOP);
  c.setLineDash([]);
}

// Draw the jobs of a lane; bars that share one pixel are drawn once.
function bars(c, data, { lane, longest, scale, y, height, chain }) {
  const { start_s, end_s, group, unfinished } = data.jobs.columns;
  const { ink, chain: mark } = colors();
  const groups = data.jobs.groups;
  const lit = [];
  let last = -1;
  for (let i = firstIn(data, lane, longest, view.x0); i < lane.length; i++) {
    const job = lane[i];
    if (start_s[job] > view.x1) break;
    const x = scale.x(start_s[job]);
    const width = Math.max(1, scale.x(end_s[job]) - x);
    if (chain.has(job)) lit.push([job, x, width]);
    else if (x + width < last + 0.7) continue;
    last = x + width;
    c.globalAlpha = chain.size && !chain.has(job) ? 0.35 : 1;
    c.fillStyle = groups[group[job]].color;
    c.fillRect(x, y, width, height);
    if (unfinished && unfinished[job]) { c.fillStyle = stripes(c, ink); c.fillRect(x, y, width, height); }
  }
  c.globalAlpha = 1;
  c.strokeStyle = mark;
  c.lineWidth = 2.5;
  for (const [, x, width] of lit) c.strokeRect(x, y + 0.5, Math.max(2, width), height - 1);
}

function jobAt(data, longest, scale, x, number) {
  const lane = data.lanes[number];
  if (!lane || x < scale.left - 2 || x > scale.right + 2) return -1;
  const { start_s, end_s } = data.jobs.columns;
  const near = scale.s(x + 2) - scale.s(x);
  const s = scale.s(x);
  let best = -1;
  for (let i = firstIn(data, lane, longest[number], s - near); i < lane.length && start_s[lane[i]] <= s + near; i++) {
    if (end_s[lane[i]] >= s - near) best = lane[i];
  }
  return best;
}

// Return the lines of a job's tooltip.
export function jobLines(data, job) {
  const { start_s, end_s, read_bytes, write_bytes, reason } = data.jobs.columns;
  return [jobName(data, job), `${data.jobs.reasons[reason[job]] || "no reason recorded"}`,
          `ran ${seconds(end_s[job] - start_s[job])} from ${instant(start_s[job])}`,
          `read ${bytes(read_bytes[job])}, wrote ${bytes(write_bytes[job])}`];
}
