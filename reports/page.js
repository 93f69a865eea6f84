"use strict";
// Script of every page: Plotly figures in the colours of the theme, those near the window first, and figures over time that
// zoom together.
const lsmlab = (() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  window.addEventListener("unhandledrejection", (event) => { root.dataset.error = String(event.reason); });

  const figures = JSON.parse(document.getElementById("figures").textContent);
  const drawn = figures.filter((figure) => figure.traces.length > 0);
  const timelines = drawn.filter((figure) => figure.timeline);
  const node = (id) => document.getElementById(id);
  const repainted = []; // functions that draw other parts of the page in a theme
  const shared = { range: null }; // range of all figures over time: [start, end], or null for the whole

  // Return the bytes behind a base64 text of gzip-compressed data.
  async function inflate(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  // ---- light and dark -------------------------------------------------------------------------------------------
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = prefersDark.matches ? "dark" : "light";
  let look = {}; // values of style variables in the present theme: reading one makes the browser lay out the page
  const css = (name) => (look[name] ??= getComputedStyle(root).getPropertyValue(name).trim());
  const printing = () => root.dataset.printing !== undefined;
  const narrow = () => printing() || window.innerWidth < 860;
  const PRINTED = 0.75; // height of a figure on paper, of its height on a screen
  const SHORT_NAME = 12; // characters that a name beside a row of a figure may have on a narrow screen

  // Left and right margin of figures over time in px: the same for all, so that their time axes lie above each other.
  const margins = () => (narrow() ? { l: window.innerWidth < 560 ? 74 : 84, r: 12 } : { l: 88, r: 24 });

  function axis(own, aligned) {
    return { gridcolor: css("--rule"), linecolor: css("--rule"), zerolinecolor: css("--rule"), automargin: !aligned, ...own,
             title: { font: { size: narrow() ? 13 : 15 }, standoff: 10, ...(own.title || {}) } };
  }

  // Return the rows that the vertical axis of a figure names: [place, name]; none for an axis of numbers, short names or cells.
  function namedRows({ traces, layout }) {
    const own = layout.yaxis || {};
    if (traces.some(({ type }) => type === "heatmap")) return [];
    let rows = [];
    if (own.type === "category") rows = [...new Set(own.categoryarray || traces.flatMap(({ y }) => y))].map((name, i) => [i, String(name)]);
    else if (own.tickmode === "array" && own.autorange === "reversed") rows = own.tickvals.map((place, i) => [place, own.ticktext[i]]);
    return rows.some(([, name]) => name.split("<br>").some((line) => line.length > SHORT_NAME)) ? rows : [];
  }

  // Put the names of rows above the rows: beside them, they would leave no room on a narrow screen.
  function namesAbove(layout, rows, height) {
    const lines = Math.max(...rows.map(([, name]) => name.split("<br>").length));
    const places = rows.map(([place]) => place);
    const [least, most] = [Math.min(...places), Math.max(...places)];
    const room = 24 + 17 * lines; // px per row
    const names = rows.map(([place, name]) => ({
      xref: "paper", x: 0, xanchor: "left", yref: "y", y: place, yanchor: "bottom", yshift: 10, text: name, align: "left", showarrow: false,
      bgcolor: "rgba(0,0,0,0)", opacity: 1, borderpad: 0,
    }));
    const { autorange, ...axis } = layout.yaxis;
    const ends = autorange === "reversed" ? [most + 0.5, least - 0.9] : [least - 0.5, most + 0.9];
    const total = Math.max(height, 120 + room * (most - least + 1.4));
    const bargap = 1 - 16 / ((total - 70) / (most - least + 1.4)); // bars of at most 16 px, which the names do not touch
    return { ...layout, bargap, annotations: [...(layout.annotations || []), ...names], height: total, yaxis: { ...axis, range: ends, showticklabels: false } };
  }

  // Break a title into lines of a width in px.
  function broken(title, width) {
    const lines = [""];
    for (const word of (title || "").split(" ")) {
      if (lines.at(-1) && (lines.at(-1).length + word.length) * 7 > width) lines.push(word);
      else lines.push(`${lines.pop()} ${word}`.trim());
    }
    return lines.join("<br>");
  }

  function themed(figure) {
    const rows = narrow() ? namedRows(figure) : [];
    const height = Math.round(printing() && !rows.length ? PRINTED * figure.height_px : figure.height_px);
    const layout = rows.length ? namesAbove(figure.layout, rows, height) : { ...figure.layout };
    const size = narrow() ? 13 : 15;
    const sides = figure.timeline ? margins() : narrow() ? { l: rows.length ? 12 : 50, r: 16 } : { l: 70, r: 40 };
    if (narrow() && layout.xaxis?.title) {
      const width = node(figure.id).clientWidth - sides.l - sides.r;
      layout.xaxis = { ...layout.xaxis, title: { ...layout.xaxis.title, text: broken(layout.xaxis.title.text, width) } };
    }
    const result = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height, hovermode: "x unified",
      font: { family: "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif", size, color: css("--ink") },
      margin: { ...sides, t: 10, b: 46 }, dragmode: "zoom", bargap: 0.3,
      modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: css("--rule"), activecolor: css("--soft") },
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--ink"), size: 14.5 } },
      ...layout,
    };
    result.annotations = (layout.annotations || []).map((mine) => ({ bgcolor: css("--card"), opacity: 0.75, ...mine }));
    result.legend = { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size }, ...layout.legend };
    for (const name of Object.keys(result)) {
      if (/^[xy]axis\d*$/.test(name)) result[name] = axis(result[name], figure.timeline);
    }
    if (!result.xaxis) result.xaxis = axis({}, figure.timeline);
    if (!result.yaxis) result.yaxis = axis({}, figure.timeline);
    return result;
  }

  // Replace Plotly's default buttons, because one of them sends the data to a server.
  const config = { displaylogo: false, doubleClick: "reset", plotlyServerURL: "",
                   modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]] };

  // ---- drawing ----------------------------------------------------------------------------------------------------
  let loaded = null; // promise of Plotly
  const plotly = () => (loaded ??= (async () => {
    const library = document.createElement("script");
    library.textContent = new TextDecoder().decode(await inflate(node("plotly").textContent));
    document.head.append(library);
  })());

  const painted = new Set(); // figures that have been drawn
  const hooks = []; // functions of a figure that was drawn for the first time

  function draw(figure) {
    const div = node(figure.id);
    const layout = { ...themed(figure), width: div.clientWidth };
    widths.set(div, div.clientWidth);
    if (figure.timeline && shared.range) layout.xaxis = { ...layout.xaxis, range: shared.range };
    else if (painted.has(figure) && !div.layout.xaxis.autorange) layout.xaxis.range = div.layout.xaxis.range;
    Plotly.react(div, figure.traces, layout, config);
    if (painted.has(figure)) return;
    painted.add(figure);
    near.unobserve(div);
    resized.observe(div);
    div.on("plotly_afterplot", () => skipInside(div));
    skipInside(div);
    for (const hook of hooks) hook(figure);
  }

  // Call `hook` with each figure that is drawn, now or later.
  function whenDrawn(hook) {
    hooks.push(hook);
    for (const figure of painted) hook(figure);
  }

  async function drawAll(figures) {
    if (figures.length) await plotly();
    for (const figure of figures) if (!painted.has(figure)) draw(figure);
  }

  // Draws each figure when it comes less than a window's height away.
  const near = new IntersectionObserver((entries) => {
    drawAll(drawn.filter(({ id }) => entries.some((entry) => entry.isIntersecting && entry.target.id === id)));
  }, { rootMargin: "100% 0px" });

  // Draws a figure again when its width has changed. Plotly's own way comes too late for paper, and in the old width for a theme.
  const widths = new Map();
  const resized = new ResizeObserver((entries) => {
    if (printing()) return;
    const changed = entries.filter(({ target }) => target.clientWidth && target.clientWidth !== widths.get(target));
    for (const figure of drawn) if (changed.some(({ target }) => target.id === figure.id)) draw(figure);
  });

  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));

  // Draw one figure after the other while the reader does nothing; figures in a folded part wait until it is unfolded.
  async function drawOthers() {
    const next = drawn.find((figure) => !painted.has(figure) && node(figure.id).clientWidth);
    root.dataset.drawn = String(!next);
    if (!next) return;
    await plotly();
    if (!painted.has(next)) draw(next);
    idle(drawOthers);
  }

  // Draw the figures near the window, then the others. Resolves when the first ones are drawn.
  async function begin() {
    await drawAll(drawn.filter(({ id }) => {
      const { top, width } = node(id).getBoundingClientRect(); // the observer would tell it a frame later
      return width && top < 2 * window.innerHeight;
    }));
    for (const figure of drawn) if (!painted.has(figure)) near.observe(node(figure.id));
    requestAnimationFrame(() => idle(drawOthers)); // after the browser has shown the first ones
  }

  function paint(theme) {
    root.dataset.theme = theme;
    look = {};
    for (const figure of drawn) if (painted.has(figure)) draw(figure); else near.observe(node(figure.id));
    for (const repaint of repainted) repaint();
  }
  function listen() {
    node("theme").addEventListener("click", () => paint(root.dataset.theme === "dark" ? "light" : "dark"));
    prefersDark.addEventListener("change", (event) => paint(event.matches ? "dark" : "light"));
    let before = null;
    let folded = [];
    window.addEventListener("beforeprint", () => {
      before = root.dataset.theme;
      root.dataset.printing = "";
      folded = [...document.querySelectorAll("details:not([open])")];
      for (const details of folded) details.open = true;
      paint("light");
      if (window.Plotly) for (const figure of drawn) if (!painted.has(figure)) draw(figure);
    });
    window.addEventListener("afterprint", () => {
      delete root.dataset.printing;
      for (const details of folded) details.open = false;
      paint(before || "light");
    });
    let small = narrow();
    window.addEventListener("resize", () => {
      makeReachable();
      if (small === narrow()) return;
      small = narrow();
      paint(root.dataset.theme);
    });
  }

  // ---- keyboard ---------------------------------------------------------------------------------------------------
  // Take the buttons and legends of a figure out of the order of the tab key: drag and double-click do the same.
  function skipInside(figure) {
    for (const inner of figure.querySelectorAll("a, button, [tabindex='0']")) inner.setAttribute("tabindex", "-1");
  }

  // Make each figure one stop of the tab key that is read aloud, and each box that scrolls reachable by keyboard.
  function makeReachable() {
    const titleOf = (box) => box.closest("section")?.querySelector("h2")?.textContent || "";
    for (const { id } of drawn) {
      const caption = node(id).closest("section")?.querySelector(".caption")?.textContent || "";
      Object.assign(node(id), { tabIndex: 0, role: "group", ariaLabel: `${titleOf(node(id))}. ${caption}`.trim() });
    }
    const nameOf = (box) => { // the nearest title above the box
      for (let node = box.previousElementSibling; node; node = node.previousElementSibling) {
        if (/^(H\d|SUMMARY)$/.test(node.tagName)) return node.textContent;
      }
      return titleOf(box);
    };
    for (const box of document.querySelectorAll(".scroll, pre")) {
      if (box.scrollWidth > box.clientWidth) Object.assign(box, { tabIndex: 0, role: "region", ariaLabel: nameOf(box) || "table" });
      else box.removeAttribute("tabindex");
    }
  }

  // ---- figures over time zoom together --------------------------------------------------------------------------
  // Return the new range of a time axis from the changes that Plotly reports: [start, end], null: all, undefined: the old.
  function newRange(change) {
    if (change["xaxis.autorange"]) return null;
    if (change["xaxis.range[0]"] !== undefined) return [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    return change["xaxis.range"];
  }

  let following = false;
  function follow(source, change) {
    const range = newRange(change);
    if (following || range === undefined) return;
    following = true;
    shared.range = range;
    const update = range ? { "xaxis.range": range } : { "xaxis.autorange": true };
    const others = timelines.filter((figure) => painted.has(figure) && figure.id !== source);
    Promise.all(others.map((figure) => Plotly.relayout(node(figure.id), update))).finally(() => { following = false; });
  }

  // Say that the first screen is complete, and that all buttons and keys work.
  function opened() {
    root.dataset.ready = "true";
    performance.mark("ready");
  }

  listen();
  makeReachable();
  // Resolves when the first figures are drawn. The explorer begins by itself, because it sets the shared range before.
  const ready = node("explorer") ? null : begin().then(() => {
    whenDrawn(({ id, timeline }) => { if (timeline) node(id).on("plotly_relayout", (change) => follow(id, change)); });
    opened();
  });

  return { root, node, css, narrow, printing, margins, inflate, newRange, timelines, drawn, repainted, shared, paint, whenDrawn, begin, opened,
           ready };
})();
