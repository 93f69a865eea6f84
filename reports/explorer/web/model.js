// State of a run at any instant, from its jobs, stalls and version edits. Pure functions of the data; no drawing.
import { digits, plural, seconds } from "./format.js";

export const FILE = 0;
export const FROZEN = 1;
export const SLICE = 2;
export const BLOB = 3;

// Return the number of values <= limit in a sorted array.
export function countUntil(sorted, limit) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= limit) low = middle + 1; else high = middle;
  }
  return low;
}

// Return the number of edits that the tree at an instant contains; long runs show the tree after some edits only.
export function editsUntil(tree, time) {
  const count = countUntil(tree.edits.time_s, time);
  if (!tree.shown) return count;
  const shown = countUntil(tree.shown, count - 1);
  return shown ? tree.shown[shown - 1] + 1 : 0;
}

// Return the files of a tree at an instant: rows of stays by level (L0: newest first), frozen files, slices by host, and
// blob files, oldest first.
export function treeAt(tree, time, which) {
  const { stays } = tree;
  const count = editsUntil(tree, time);
  const state = { levels: new Map(), frozen: [], slices: new Map(), blobs: [] };
  const { birth, death, kind, level, host } = stays;
  for (const row of tree.byKey) {
    if (birth[row] >= count || death[row] < count || stays.tree[row] !== which) continue;
    if (kind[row] === FROZEN) state.frozen.push(row);
    else if (kind[row] === SLICE) push(state.slices, host[row], row);
    else if (kind[row] === BLOB) state.blobs.push(row);
    else push(state.levels, level[row], row);
  }
  const newest = state.levels.get(0);
  if (newest) newest.sort((a, b) => stays.rank[b] - stays.rank[a] || a - b);
  return state;
}

function push(map, key, value) {
  const rows = map.get(key);
  if (rows) rows.push(value); else map.set(key, [value]);
}

// Return the bytes of garbage in a blob file at an instant.
export function garbageAt(data, row, time) {
  const mine = data.garbageOf.get(row);
  const count = mine ? countUntil(mine.time_s, time) : 0;
  return count ? mine.bytes[count - 1] : 0;
}

// Return the job that has a file among its inputs at an instant, or -1; blob files are no inputs.
export function busyWith(data, row, time) {
  const { tree, jobs } = data;
  if (tree.stays.kind[row] === BLOB) return -1;
  const { start_s, end_s } = jobs.columns;
  const death = tree.stays.death[row];
  const remover = death < tree.edits.job.length ? tree.edits.job[death] : -1;
  if (remover >= 0 && start_s[remover] <= time) return remover;
  for (const job of data.unfinishedOf.get(row) || []) if (start_s[job] <= time && time <= end_s[job]) return job;
  return -1;
}

// Return memtables of a tree at an instant: the share of the active one that is full (null: unknown), and the immutable
// ones, oldest first, each with `job`: its running flush or -1.
export function memtablesAt(data, time, which) {
  const { switches } = data.tree;
  const mine = data.switchesOf[which];
  const switched = countUntil(mine.time_s, time);
  const flushes = data.flushesOf[which];
  const flushed = countUntil(flushes.end_s, time);
  const done = flushed ? flushes.done[flushed - 1] : 0;
  const { start_s, end_s, input_files } = data.jobs.columns;
  const flushing = [];
  for (const job of flushes.byStart) {
    if (start_s[job] > time) break;
    if (end_s[job] > time) for (let i = 0; i < input_files[job]; i++) flushing.push(job);
  }
  const immutable = [];
  for (let i = 0; i < Math.max(0, switched - done); i++) immutable.push({ job: i < flushing.length ? flushing[i] : -1 });
  return { fill: fillAt(data, time, mine, switched, switches), immutable };
}

// Return the share of the active memtable that clients have filled, from the writes between two switches.
function fillAt(data, time, mine, switched) {
  const written = (at) => interpolate(data.written.time_s, data.written.ops, at);
  const begun = switched ? mine.time_s[switched - 1] : 0;
  const since = written(time) - written(begun);
  if (switched < mine.time_s.length) {
    const all = written(mine.time_s[switched]) - written(begun);
    return all > 0 ? Math.min(1, since / all) : null;
  }
  if (!switched) return null;
  const entries = mine.entries[switched - 1] * data.switchesOf.length;
  return entries > 0 ? Math.min(1, since / entries) : null;
}

function interpolate(x, y, at) {
  const place = countUntil(x, at);
  if (place === 0) return y[0] || 0;
  if (place === x.length) return y[x.length - 1];
  return y[place - 1] + (y[place] - y[place - 1]) * (at - x[place - 1]) / (x[place] - x[place - 1]);
}

// Return the jobs (places) that a stall waited for.
export function chainOf(data, stall) {
  const { chain, chain_ends } = data.stalls.columns;
  return stall < 0 ? [] : Array.from(chain.subarray(chain_ends[stall], chain_ends[stall + 1])).filter((job) => job >= 0);
}

// Return the jobs of the choice: a job itself, those behind all stalls of a group, or those behind a stall.
export function chosenJobs(data, { job, group, stall }) {
  if (job >= 0) return [job];
  if (group < 0) return chainOf(data, stall);
  return [...new Set(data.stalls.groups[group].stalls.flatMap((row) => chainOf(data, row)))];
}

// Return the stalls that last at an instant, or touch it within a tolerance in s; the costliest first.
export function stallsAt(data, time, tolerance = 0) {
  const { start_s, end_s, rank } = data.stalls.columns;
  const found = [];
  for (let row = 0; row < start_s.length; row++) {
    if (start_s[row] <= time + tolerance && end_s[row] >= time - tolerance) found.push(row);
  }
  return found.sort((a, b) => rank[a] - rank[b]);
}

// Return the lines of a tooltip on stalls at one place: the first, the job that it waited for longest, and how many more.
export function stallLines(data, rows) {
  const { start_s, end_s, lost_ops: lost } = data.stalls.columns;
  const [row] = rows;
  const cost = Number.isFinite(lost[row]) ? `, ${digits(lost[row])} operations lost` : "";
  const lines = [`${causeOf(data, row)}, ${seconds(end_s[row] - start_s[row])}${cost}`];
  const job = longestJob(data, row);
  if (job >= 0) lines.push(`waited for ${jobName(data, job)}`);
  if (rows.length > 1) lines.push(`and ${plural(rows.length - 1, "more stall")} here`);
  return lines;
}

// Return the job in a stall's chain that ran longest during the stall, or -1.
export function longestJob(data, row) {
  const { start_s, end_s } = data.jobs.columns;
  const { start_s: from, end_s: until } = data.stalls.columns;
  const held = (job) => Math.min(end_s[job], until[row]) - Math.max(start_s[job], from[row]);
  return chainOf(data, row).reduce((best, job) => (best < 0 || held(job) > held(best) ? job : best), -1);
}

// Return the files that a job read and wrote: rows of stays.
export function filesOf(data, job) {
  const found = { inputs: [], outputs: [] };
  if (!data.tree) return found;
  const { stays, edits } = data.tree;
  const rows = data.filesOfJob.get(job) || [];
  for (const row of rows) {
    const removed = stays.kind[row] !== BLOB && stays.death[row] < edits.job.length;
    if (removed && edits.job[stays.death[row]] === job) found.inputs.push(row);
    if (edits.job[stays.birth[row]] === job) found.outputs.push(row);
  }
  for (const [row, jobs] of data.unfinishedOf) if (jobs.includes(job)) found.inputs.push(row);
  return found;
}

// Return what happens at an instant, as short texts.
export function eventsAt(data, time) {
  const found = [];
  const { jobs, stalls, tree } = data;
  const { start_s, end_s, kind } = jobs.columns;
  for (const job of data.jobsAt.get(time) || []) {
    const name = jobName(data, job);
    if (start_s[job] === end_s[job]) found.push(`${name} done`);
    else if (start_s[job] === time) found.push(`${name} starts`);
    else if (jobs.columns.unfinished && jobs.columns.unfinished[job]) found.push(`${name} is unfinished`);
    else found.push(`${name} ${jobs.kinds[kind[job]] === "discarded" ? "is discarded" : "commits"}`);
  }
  if (tree) for (const mine of data.switchesOf) if (mine.time_s.includes(time)) found.push("a memtable is full");
  for (let row = 0; row < stalls.count; row++) {
    if (stalls.columns.start_s[row] === time) found.push(`stall begins (${causeOf(data, row)})`);
    if (stalls.columns.end_s[row] === time) found.push(`stall ends (${causeOf(data, row)})`);
  }
  return found;
}

export const causeOf = (data, row) => data.stalls.causes[data.stalls.columns.cause[row]].name;

// Return the name of a job, such as compaction L1→L2 (job 33).
export function jobName(data, job) {
  const { kind, start_level, output_level, job: number, shard } = data.jobs.columns;
  const what = data.jobs.kinds[kind[job]].replace("_", " ");
  const name = data.shards > 1 ? `${shard[job]}.${number[job]}` : `${number[job]}`;
  if (what === "flush") return `flush (job ${name})`;
  return `${what} L${start_level[job]}→${output_level[job] < 0 ? "none" : `L${output_level[job]}`} (job ${name})`;
}

// Return the next event after an instant (direction 1), or the last one before it (-1); the instant itself if there is none.
export function stepFrom(data, time, direction) {
  const events = data.events;
  const place = countUntil(events, time);
  if (direction > 0) return place < events.length ? events[place] : time;
  const before = place > 0 && events[place - 1] === time ? place - 2 : place - 1;
  return before >= 0 ? events[before] : time;
}

// Add what the functions above look up to the data of a page.
export function prepare(data) {
  const { jobs, stalls, tree, curves } = data;
  const { start_s, end_s, shard } = jobs.columns;
  data.shards = new Set(shard || []).size;
  data.jobsAt = new Map();
  for (let job = 0; job < jobs.count; job++) {
    push(data.jobsAt, start_s[job], job);
    if (end_s[job] !== start_s[job]) push(data.jobsAt, end_s[job], job);
  }
  const times = [...data.jobsAt.keys(), ...stalls.columns.start_s, ...stalls.columns.end_s];
  if (tree) {
    prepareTree(data);
    for (const time of tree.edits.time_s) times.push(time);
    for (const time of tree.switches.time_s) times.push(time);
  }
  data.events = Float64Array.from(new Set(times)).sort();
  const ops = new Float64Array(curves.end_s.length + 1); // a rate is NaN where it is unknown
  curves.writes.forEach((rate, i) => { ops[i + 1] = ops[i] + (rate || 0) * (curves.end_s[i] - (i ? curves.end_s[i - 1] : 0)); });
  data.written = { time_s: Float64Array.of(0, ...curves.end_s), ops };
  data.lanes = jobs.lanes.map(() => []);
  for (let job = 0; job < jobs.count; job++) data.lanes[jobs.columns.lane[job]].push(job);
  return data;
}

function prepareTree(data) {
  const { tree, jobs } = data;
  const { stays, edits, switches, inputs } = tree;
  tree.byKey = Uint32Array.from(stays.birth.keys()).sort((a, b) => stays.smallest[a] - stays.smallest[b] || stays.number[a] - stays.number[b]);
  data.unfinishedOf = new Map();
  inputs.stay.forEach((row, i) => { if (inputs.job[i] >= 0) push(data.unfinishedOf, row, inputs.job[i]); });
  data.garbageOf = new Map();
  tree.garbage.stay.forEach((row, i) => {
    if (!data.garbageOf.has(row)) data.garbageOf.set(row, { time_s: [], bytes: [] });
    data.garbageOf.get(row).time_s.push(tree.garbage.time_s[i]);
    data.garbageOf.get(row).bytes.push(tree.garbage.bytes[i]);
  });
  data.filesOfJob = new Map();
  for (let row = 0; row < stays.birth.length; row++) {
    const maker = edits.job[stays.birth[row]];
    const remover = stays.death[row] < edits.job.length ? edits.job[stays.death[row]] : -1;
    if (maker >= 0) push(data.filesOfJob, maker, row);
    if (remover >= 0 && remover !== maker) push(data.filesOfJob, remover, row);
  }
  data.switchesOf = tree.names.map((_, which) => {
    const rows = [];
    switches.tree.forEach((mine, row) => { if (mine === which) rows.push(row); });
    return { time_s: rows.map((row) => switches.time_s[row]), entries: rows.map((row) => switches.entries[row]) };
  });
  data.picksOf = new Map();
  data.targetsOf = new Map();
  tree.picks.job.forEach((job, i) => {
    push(data.picksOf, job, i);
    push(data.targetsOf, `${tree.picks.tree[i]} ${tree.picks.level[i]}`, i);
  });
  const flush = jobs.kinds.indexOf("flush");
  const { kind, start_s, end_s, input_files } = jobs.columns;
  data.flushesOf = tree.names.map((_, which) => {
    const byStart = [];
    for (let job = 0; job < jobs.count; job++) if (kind[job] === flush && tree.job_tree[job] === which) byStart.push(job);
    const unfinished = jobs.columns.unfinished || [];
    const byEnd = byStart.filter((job) => !unfinished[job]).sort((a, b) => end_s[a] - end_s[b]);
    let done = 0;
    byStart.sort((a, b) => start_s[a] - start_s[b]);
    return { byStart, end_s: byEnd.map((job) => end_s[job]), done: byEnd.map((job) => (done += input_files[job])) };
  });
}

// Return the target size of a level of a tree at an instant: that of the last pick before, else the one at the end of the run.
export function targetAt(data, level, time, which) {
  const { picks, targets, names } = data.tree;
  const rows = data.targetsOf.get(`${which} ${level}`) || [];
  const { start_s } = data.jobs.columns;
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start_s[picks.job[rows[middle]]] <= time) low = middle + 1; else high = middle;
  }
  if (rows.length) return picks.target[rows[Math.max(0, low - 1)]];
  return targets[level] / names.length;
}

// Return the rows in which overlapping files of a level lie one above the other, newest on top: rows of stays per row.
export function stacked(stays, rows) {
  const lines = [];
  const ends = [];
  for (const row of rows) {
    let line = ends.findIndex((end) => stays.smallest[row] >= end);
    if (line < 0) line = lines.push([]) - 1;
    lines[line].push(row);
    ends[line] = Math.max(stays.largest[row], stays.smallest[row]);
  }
  const age = (line) => Math.max(...line.slice(0, 50).map((row) => stays.birth[row]));
  return lines.length > 1 ? lines.sort((a, b) => age(b) - age(a)) : lines;
}
