// Start of the explorer: reads the data of the page and draws all panels.
import { connect, contents, chooseGroup, chooseStall } from "./controls.js";
import { details } from "./details.js";
import { gantt } from "./gantt.js";
import { prepare } from "./model.js";
import { overview } from "./overview.js";
import { linkPlots } from "./plots.js";
import { treePanel } from "./tree.js";
import { unpack } from "./unpack.js";
import { onChange, view } from "./view.js";

const RANGE = ["x0", "x1"];
const CHOICE = ["stall", "job", "group"];

async function start() {
  const { node, inflate } = lsmlab;
  const data = prepare(unpack(await inflate(node("run-data").textContent)));
  data.time_label = node("explorer").dataset.time;
  Object.assign(view, { x0: 0, x1: data.duration_s, t: 0 });
  const drawings = [];
  const add = (id, parts, make) => {
    const canvas = node(id);
    if (!canvas) return;
    drawings.push({ parts: new Set(parts), draw: make(canvas) });
  };
  add("overview", ["t", ...RANGE], (canvas) => overview(canvas, data));
  add("tree-canvas", ["t", "tree", ...CHOICE], (canvas) => treePanel(canvas, data, (words) => { node("tree-words").textContent = words; }));
  add("jobs-canvas", ["t", ...RANGE, ...CHOICE], (canvas) => gantt(canvas, data));
  const plots = linkPlots(data);
  onChange((names) => {
    for (const { parts, draw } of drawings) if ([...names].some((name) => parts.has(name))) draw();
    if (names.has("t") && !RANGE.some((name) => names.has(name))) plots.lines();
    if (RANGE.some((name) => names.has(name))) plots.update();
    if (CHOICE.some((name) => names.has(name))) node("details").replaceChildren(...details(data));
  });
  const all = () => { for (const { draw } of drawings) draw(); };
  lsmlab.repainted.push(all);
  window.addEventListener("resize", () => { all(); plots.update(); });
  node("details").replaceChildren(...details(data));
  connect(data);
  contents();
  if (!window.location.hash.includes("=") && data.stalls.count) {
    if (data.stalls.groups.length) chooseGroup(data, 0); else chooseStall(data, data.stalls.listed[0].row);
  }
  all();
  plots.update();
  await lsmlab.begin();
  lsmlab.opened();
}
start();
