// What the page shows: an instant, a time range, a chosen stall or job, a tree. Part of the page's address.

const listeners = [];
export const view = { t: 0, x0: 0, x1: 1, stall: -1, group: -1, job: -1, tree: 0, speed: 1, playing: false };

// Call `listener` with the names of the changed parts after each change.
export function onChange(listener) {
  listeners.push(listener);
}

// Change parts of the view; listeners hear of the parts that differ.
export function change(parts) {
  const names = Object.keys(parts).filter((name) => view[name] !== parts[name]);
  if (!names.length) return;
  Object.assign(view, parts);
  for (const listener of listeners) listener(new Set(names));
}

// Return the view as the part of an address after "#".
export function toAddress(current, duration, jobAt) {
  const parts = [`t=${current.t}`];
  if (current.x0 > 0 || current.x1 < duration) parts.push(`x=${current.x0}~${current.x1}`);
  if (current.stall >= 0) parts.push(`stall=${current.stall}`);
  if (current.group >= 0) parts.push(`group=${current.group}`);
  if (current.job >= 0) parts.push(`job=${jobAt(current.job)}`);
  if (current.tree) parts.push(`tree=${current.tree}`);
  if (current.speed !== 1) parts.push(`speed=${current.speed}`);
  return parts.join("&");
}

// Return the parts of a view from an address; parts that are missing or damaged are left out.
export function fromAddress(text, data, placeOfJob) {
  const given = new URLSearchParams(text.replace(/^#/, ""));
  const found = {};
  const inRun = (value) => Number.isFinite(value) && value >= 0 && value <= data.duration_s;
  if (given.has("t") && inRun(Number(given.get("t")))) found.t = Number(given.get("t"));
  const [x0, x1] = (given.get("x") || "").split("~").map(Number);
  if (inRun(x0) && inRun(x1) && x0 < x1) Object.assign(found, { x0, x1 });
  const whole = (name, limit) => {
    const value = Number(given.get(name));
    if (given.has(name) && Number.isInteger(value) && value >= 0 && value < limit) found[name] = value;
  };
  whole("stall", data.stalls.count);
  whole("group", data.stalls.groups.length);
  whole("tree", data.tree ? data.tree.names.length : 1);
  if (Number(given.get("speed")) > 0) found.speed = Number(given.get("speed"));
  const job = given.has("job") ? placeOfJob(given.get("job")) : -1;
  if (job >= 0) found.job = job;
  return found;
}
