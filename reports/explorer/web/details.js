// What was clicked, in words and tables: a stall with the jobs behind it, or a job with its reason, files and cost.
import { bytes, digits, instant, percent, plural, seconds } from "./format.js";
import { BLOB, busyWith, causeOf, chosenJobs, filesOf, jobName, targetAt, treeAt } from "./model.js";
import { change, view } from "./view.js";

const MOST_ROWS = 40;

// Return an element with a class, text and children.
export function element(tag, { className, text, ...rest } = {}, children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(rest)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Return the parts of the box of details for the present choice.
export function details(data) {
  if (view.job >= 0) return jobDetails(data, view.job);
  if (view.stall >= 0) return stallDetails(data, view.stall);
  const hint = data.stalls.count ? "Choose a stall to see the jobs that it waited for, or a job or file to see why it was picked."
    : "The run has no write stalls. Choose a job or a file to see why it was picked.";
  return [element("p", { className: "hint", text: hint })];
}

function stallDetails(data, row) {
  const { start_s, end_s, lost_ops: lost } = data.stalls.columns;
  const chain = chosenJobs(data, view);
  const known = data.stalls.texts[row] || `${causeOf(data, row)} for ${seconds(end_s[row] - start_s[row])}, from `
    + `${instant(start_s[row])}${Number.isFinite(lost[row]) ? `, ${digits(lost[row])} operations lost` : ""}.`;
  const parts = [element("h3", { text: `Stall: ${causeOf(data, row)}` }), element("p", { text: known })];
  const group = data.stalls.groups[view.group];
  if (group) parts.push(element("p", { className: "stall-group", text: `Group of stalls: ${group.text}.${group.reason ? ` Its writers waited for: ${group.reason}.` : ""}` }));
  if (chain.length) parts.push(jobTable(data, chain, `Jobs that had to end before the ${group ? "stalls of the group" : "stall"} could end (${chain.length})`));
  else if (!data.stalls.texts[row]) parts.push(element("p", { text: `The page holds the chains of the ${data.stalls.chained} costliest stalls; stalls.parquet holds all.` }));
  return parts;
}

function jobTable(data, jobs, caption) {
  const { start_s, end_s, read_bytes, write_bytes, group } = data.jobs.columns;
  const names = ["job", "from (s)", "ran", "waited for device", "for a slot", "read", "wrote"];
  const body = jobs.slice(0, MOST_ROWS).map((job) => {
    const waits = waitsOf(data, job);
    const key = element("span", { className: "key", style: `background:${data.jobs.groups[group[job]].color}` });
    const name = element("button", { className: "link", type: "button", text: jobName(data, job) });
    name.addEventListener("click", () => change({ job }));
    const cells = [instant(start_s[job]), seconds(end_s[job] - start_s[job]), waits ? seconds(waits.device) : "unknown",
                   waits ? seconds(waits.slot) : "unknown", bytes(read_bytes[job]), bytes(write_bytes[job])];
    const row = element("tr", { "data-job": job }, [element("td", {}, [key, name])]);
    row.append(...cells.map((text) => element("td", { className: "number", text })));
    return row;
  });
  const more = jobs.length > MOST_ROWS ? `; the first ${MOST_ROWS} are listed` : "";
  return table(`${caption}${more}`, names, body, "chain");
}

function table(caption, names, rows, id) {
  const head = element("tr", {}, names.map((text, i) => element("th", { scope: "col", className: i ? "number" : "", text })));
  const made = element("table", id ? { id } : {}, [element("caption", { text: caption }), element("thead", {}, [head]), element("tbody", {}, rows)]);
  return element("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": caption }, [made]);
}

// Return what a job waited for, per thread, in s; null if the run does not tell.
function waitsOf(data, job) {
  const col = data.jobs.columns;
  if (!col.device_s) return null;
  const threads = Math.max(1, col.subcompactions[job]);
  return { alone: col.device_alone_s[job] / threads, device: Math.max(0, col.device_s[job] - col.device_alone_s[job]) / threads,
           core: col.core_wait_s[job] / threads, limiter: col.limiter_wait_s[job] / threads, sync: col.sync_wait_s[job],
           slot: col.slot_wait_s[job] };
}

function jobDetails(data, job) {
  const col = data.jobs.columns;
  const reason = data.jobs.reasons[col.reason[job]];
  const parts = [element("h3", { text: jobName(data, job) })];
  const until = col.unfinished && col.unfinished[job] ? "was unfinished at the end of the run" : `ended at ${instant(col.end_s[job])}`;
  parts.push(element("p", { text: `Started at ${instant(col.start_s[job])}, ${until}: ${seconds(col.end_s[job] - col.start_s[job])}.` }));
  parts.push(element("h4", { text: "Why it was picked" }), ...why(data, job, reason));
  parts.push(element("h4", { text: "Inputs and outputs" }), ...filesText(data, job));
  parts.push(element("h4", { text: "What it cost" }), ...cost(data, job));
  return parts;
}

function why(data, job, reason) {
  const col = data.jobs.columns;
  const words = data.reasons[reason];
  const score = col.score && col.score[job] > 0 ? ` Score of ${col.start_level[job] < 0 ? "the memtables" : `L${col.start_level[job]}`}: ${digits(col.score[job])} (a level is compacted from 1 on).` : "";
  const parts = [element("p", { text: `${reason || "No reason recorded"}${words ? `: ${words}` : ""}.${score}` })];
  const parent = col.parent[job];
  if (parent >= 0) {
    const name = element("button", { className: "link", type: "button", text: jobName(data, parent) });
    name.addEventListener("click", () => change({ job: parent }));
    parts.push(element("p", {}, ["The end of ", name, " triggered it."]));
  } else if (data.tree) parts.push(element("p", { text: "A full memtable triggered it." }));
  if (data.tree && col.start_level[job] >= 0) parts.push(...candidates(data, job));
  return parts;
}

// Return the table of all levels at the pick: size, target, score, and the files that the job took.
function candidates(data, job) {
  const { tree } = data;
  const which = tree.job_tree[job];
  const time = data.jobs.columns.start_s[job];
  const state = treeAt(tree, time, which);
  const mine = new Set(filesOf(data, job).inputs);
  const scores = new Map((data.picksOf.get(job) || []).map((row) => [tree.picks.level[row], tree.picks.score[row]]));
  const rows = [...state.levels.keys()].sort((a, b) => a - b).map((level) => {
    const files = state.levels.get(level);
    const size = files.reduce((sum, row) => sum + tree.stays.bytes[row], 0);
    const busy = files.filter((row) => { const other = busyWith(data, row, time); return other >= 0 && other !== job; }).length;
    const target = level ? targetAt(data, level, time, which) : 0;
    const score = scores.has(level) ? digits(scores.get(level)) : "none";
    const cells = [String(files.length), bytes(size), target > 0 ? bytes(target) : "none", score, String(busy),
                   String(files.filter((row) => mine.has(row)).length)];
    return element("tr", {}, [element("td", { text: `L${level}${scores.get(level) >= 1 ? " (candidate)" : ""}` }),
                              ...cells.map((text) => element("td", { className: "number", text }))]);
  });
  const names = ["level", "files", "size", "target", "score", "in other jobs", "its inputs"];
  const parts = [table("Levels when it was picked; levels with a score of 1 or more were candidates", names, rows)];
  if (!scores.size) parts.push(element("p", { className: "hint", text: "The page does not hold the scores of this pick; targets are those at the end of the run." }));
  return parts;
}

function filesText(data, job) {
  const col = data.jobs.columns;
  const below = col.input_files_output_level[job];
  const upper = col.read_bytes[job] - col.read_bytes_output_level[job];
  const overlap = upper > 0 && below ? ` Overlap: ${digits(col.read_bytes_output_level[job] / upper)} bytes of L${col.output_level[job]} per byte from above.` : "";
  const noun = col.start_level[job] < 0 ? "memtable" : "file";
  const parts = [element("p", { text: `${plural(col.input_files[job], noun)}${below ? ` and ${plural(below, "file")} of the output level` : ""} in, ${plural(col.output_files[job], "file")} out.${overlap}` })];
  if (col.blob_files && (col.blob_files[job] || col.blob_read_bytes[job])) parts.push(element("p", { text: blobText(col, job) }));
  if (!data.tree) return parts;
  const { inputs, outputs } = filesOf(data, job);
  const { stays, key_top: keyTop } = data.tree;
  const key = (value) => percent(value / 65535 * keyTop);
  const place = (row) => stays.kind[row] === BLOB ? "blobs" : stays.level[row] < 0 ? "frozen" : `L${stays.level[row]}`;
  const range = (row) => stays.kind[row] === BLOB ? "none" : `${key(stays.smallest[row])} – ${key(stays.largest[row])}`;
  const line = (kind) => (row) => element("tr", {}, [kind, `${stays.number[row]}`, place(row), bytes(stays.bytes[row]), range(row)].map((text, i) => element("td", { className: i ? "number" : "", text })));
  const rows = [...inputs.slice(0, MOST_ROWS).map(line("input")), ...outputs.slice(0, MOST_ROWS).map(line("output"))];
  if (rows.length) parts.push(element("details", {}, [element("summary", { text: `Files (${inputs.length} in, ${outputs.length} out)` }),
    table("Files of the job, keys as shares of the key space", ["", "file", "level", "size", "keys"], rows)]));
  return parts;
}

function blobText(col, job) {
  const moved = col.blob_read_bytes[job] > 0 ? `; it moved ${bytes(col.blob_read_bytes[job])} of values out of the oldest ones` : "";
  return `Blob files: ${plural(col.blob_files[job], "new file")} with ${bytes(col.blob_write_bytes[job])}${moved}.`;
}

function cost(data, job) {
  const col = data.jobs.columns;
  const ran = col.end_s[job] - col.start_s[job];
  const parts = [element("p", { text: `Read ${bytes(col.read_bytes[job])}, wrote ${bytes(col.write_bytes[job])}`
    + `${col.moved_bytes && col.moved_bytes[job] > 0 ? `, moved ${bytes(col.moved_bytes[job])} without rewriting` : ""}`
    + `${col.cpu_s ? `, CPU time ${seconds(col.cpu_s[job])}` : ""}${col.subcompactions && col.subcompactions[job] > 1 ? ` on ${col.subcompactions[job]} threads` : ""}.` })];
  const waits = waitsOf(data, job);
  if (!waits) return [...parts, element("p", { text: "The tables do not tell what the job waited for." })];
  const names = [["alone", "device, alone"], ["device", "device, shared or capped"], ["core", "waiting for a core"], ["limiter", "rate limiter"], ["sync", "fsync and commit"], ["slot", "waiting for a slot, before the start"]];
  const total = ran + waits.slot;
  const rows = names.filter(([name]) => waits[name] > 1e-6).map(([name, label]) => element("tr", {}, [
    element("td", { text: label }), element("td", { className: "number", text: seconds(waits[name]) }),
    element("td", { className: "meter" }, [element("span", { style: `width:${Math.min(100, 100 * waits[name] / Math.max(total, 1e-9))}%` })])]));
  if (rows.length) parts.push(table("Time per thread", ["", "time", "share"], rows));
  return parts;
}
