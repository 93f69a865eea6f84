// Blob files below the tree: one box per file, the oldest at the left, with its garbage.
import { bytes, percent, plural } from "./format.js";
import { garbageAt, jobName } from "./model.js";
import { colors, text, translucent } from "./paint.js";
import { view } from "./view.js";

// Draw the blob files `rows` (oldest first) into a row of a canvas; return them in words.
export function blobFiles(c, data, { rows, top, room, place, marked, boxes }) {
  const { rule, soft, chain, ink } = colors();
  const { stays } = data.tree;
  const width = (place.right - place.left) / Math.max(1, rows.length);
  const gap = width > 6 ? 2 : 0;
  let [size, garbage] = [0, 0];
  c.lineWidth = 1;
  c.strokeStyle = rule;
  c.strokeRect(place.left - 0.5, top - 0.5, place.right - place.left + 1, room + 1);
  rows.forEach((row, i) => {
    const mine = garbageAt(data, row, view.t);
    const box = { row, x: place.left + i * width, y: top, w: Math.max(0.5, width - gap), h: room };
    const dead = room * Math.min(1, mine / Math.max(1, stays.bytes[row]));
    size += stays.bytes[row];
    garbage += mine;
    boxes.push(box);
    c.fillStyle = translucent(data.blob_color, 0.35);
    c.fillRect(box.x, top, box.w, room - dead);
    c.fillStyle = translucent(data.blob_color, 0.95);
    c.fillRect(box.x, top + room - dead, box.w, dead);
    if (!marked.has(row)) return;
    c.strokeStyle = chain;
    c.lineWidth = 2;
    c.setLineDash([4, 3]);
    c.strokeRect(box.x + 1, top + 1, Math.max(2, box.w - 2), room - 2);
    c.setLineDash([]);
  });
  const old = Math.floor((data.blob_cutoff || 0) * rows.length);
  if (old > 0) {
    c.fillStyle = ink;
    c.fillRect(place.left + old * width - 1, top - 4, 2, room + 8);
  }
  text(c, "blobs", 4, top + 9, { weight: "600" });
  text(c, place.wide ? `${plural(rows.length, "file")}, ${bytes(size)}` : bytes(size), place.wide ? 60 : 50, top + 9, { color: soft, most: place.left - 60 });
  if (place.wide) text(c, `${bytes(garbage)} of garbage`, 60, top + 26, { color: soft, most: place.left - 60 });
  const collected = old > 0 ? `, compactions move the values of the oldest ${old}` : "";
  return `blob files: ${rows.length.toLocaleString("en")}, ${bytes(size)}, ${bytes(garbage)} of garbage${collected}`;
}

// Return the lines of a blob file's tooltip.
export function blobLines(data, row) {
  const { stays, edits } = data.tree;
  const made = edits.job[stays.birth[row]];
  const share = garbageAt(data, row, view.t) / Math.max(1, stays.bytes[row]);
  return [`blob file ${stays.number[row]}: ${bytes(stays.bytes[row])}, ${plural(stays.entries[row], "value")}`,
          `${percent(share)} garbage`, made >= 0 ? `written by ${jobName(data, made)}` : "there at the start of the run"];
}
