// Memtables above the tree: the active one filling, immutable ones waiting for their flush or being written.
import { plural } from "./format.js";
import { memtablesAt } from "./model.js";
import { colors, stripes, text, translucent } from "./paint.js";
import { view } from "./view.js";

const COLOR = "#E69F00";

// Draw the memtables into a row of a canvas; return them in words.
export function memory(c, data, place) {
  const { ink, soft, rule } = colors();
  const { left, right, top, height, label } = place;
  const { fill, immutable } = memtablesAt(data, view.t, view.tree);
  const most = Math.max(data.options.max_write_buffer_number || 2, immutable.length + 1);
  const width = Math.min(150, (right - left) / most - 6);
  text(c, "memory", 4, top + height / 2 - (label ? 7 : 0), { weight: "600" });
  if (label) text(c, `${immutable.length + 1} of ${most} memtables`, 4, top + height / 2 + 9, { color: soft, most: left - 10 });
  for (let slot = 0; slot < most; slot++) {
    const x = left + slot * (width + 6);
    const job = slot ? (immutable[immutable.length - slot] || {}).job : undefined;
    const used = slot === 0 || job !== undefined;
    c.lineWidth = 1;
    c.strokeStyle = used ? ink : rule;
    c.setLineDash(used ? [] : [4, 3]);
    c.strokeRect(x + 0.5, top + 0.5, width - 1, height - 1);
    c.setLineDash([]);
    if (!used) continue;
    c.fillStyle = translucent(COLOR, 0.55);
    c.fillRect(x + 1, top + 1, (width - 2) * (slot ? 1 : fill === null ? 0 : fill), height - 2);
    if (job >= 0) { c.fillStyle = stripes(c, ink); c.fillRect(x + 1, top + 1, width - 2, height - 2); }
    const words = slot ? (job >= 0 ? "flushing" : "waiting") : fill === null ? "active" : `active ${Math.round(100 * fill)} %`;
    plate(c, words, x + width / 2, top + height / 2, width - 6);
  }
  const flushing = immutable.filter((one) => one.job >= 0).length;
  return `${plural(immutable.length, "immutable memtable")}${flushing ? `, ${flushing} being flushed` : ""}`;
}

// Draw a text on a ground that keeps it legible on any pattern.
function plate(c, words, x, y, most) {
  const width = Math.min(most, c.measureText(words).width + 8);
  c.fillStyle = colors().card;
  c.globalAlpha = 0.85;
  c.fillRect(x - width / 2, y - 9, width, 18);
  c.globalAlpha = 1;
  text(c, words, x, y + 0.5, { align: "center", most });
}
