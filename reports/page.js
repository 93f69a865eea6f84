"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });

  const figures = JSON.parse(document.getElementById("figures").textContent);
  const drawn = figures.filter((figure) => figure.traces.length > 0);
  const timelines = drawn.filter((figure) => figure.timeline);
  const node = (id) => document.getElementById(id);

  // ---- light and dark -------------------------------------------------------------------------------------------
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = prefersDark.matches ? "dark" : "light";
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function axis(own) {
    return { gridcolor: css("--rule"), linecolor: css("--rule"), zerolinecolor: css("--rule"), automargin: true, ...own,
             title: { font: { size: 15 }, standoff: 10, ...(own.title || {}) } };
  }

  function themed(layout, height) {
    const narrow = window.innerWidth < 860;
    const result = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height, hovermode: "x unified",
      font: { family: "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif", size: 15, color: css("--ink") },
      margin: { l: narrow ? 50 : 70, r: 40, t: 10, b: 46 }, dragmode: "zoom", bargap: 0.3,
      modebar: { orientation: "v", bgcolor: "rgba(0,0,0,0)", color: css("--rule"), activecolor: css("--soft") },
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--ink"), size: 14.5 } },
      ...layout,
    };
    result.annotations = (layout.annotations || []).map((own) => ({ bgcolor: css("--card"), opacity: 0.75, ...own }));
    result.legend = { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size: 14.5 }, ...layout.legend };
    for (const name of Object.keys(result)) if (/^[xy]axis\d*$/.test(name)) result[name] = axis(result[name]);
    if (!result.xaxis) result.xaxis = axis({});
    if (!result.yaxis) result.yaxis = axis({});
    return result;
  }

  // Replace Plotly's default buttons, because one of them sends the data to a server.
  const config = { responsive: true, displaylogo: false, doubleClick: "reset", plotlyServerURL: "",
                   modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]] };

  function paint(theme) {
    root.dataset.theme = theme;
    for (const figure of drawn) {
      const div = node(figure.id);
      const kept = div.layout ? { xaxis: div.layout.xaxis.range, auto: div.layout.xaxis.autorange, shapes: div.layout.shapes } : null;
      const layout = themed(figure.layout, figure.height_px);
      if (kept) {
        layout.shapes = kept.shapes;
        if (!kept.auto) layout.xaxis.range = kept.xaxis;
      }
      Plotly.react(div, figure.traces, layout, config);
    }
  }
  function repaint(theme) {
    paint(theme);
    if (gantt && choice) select(Number(choice.value));
  }
  node("theme").addEventListener("click", () => repaint(root.dataset.theme === "dark" ? "light" : "dark"));
  prefersDark.addEventListener("change", (event) => repaint(event.matches ? "dark" : "light"));

  // ---- synchronised zoom of the figures over time ---------------------------------------------------------------
  let following = false;
  function follow(source, change) {
    if (following) return;
    let update = null;
    if (change["xaxis.autorange"]) update = { "xaxis.autorange": true };
    else if (change["xaxis.range[0]"] !== undefined) update = { "xaxis.range": [change["xaxis.range[0]"], change["xaxis.range[1]"]] };
    else if (change["xaxis.range"]) update = { "xaxis.range": change["xaxis.range"] };
    if (!update) return;
    following = true;
    Promise.all(timelines.filter((f) => f.id !== source).map((f) => Plotly.relayout(node(f.id), update)))
      .finally(() => { following = false; });
  }

  // ---- the chain of a stall -------------------------------------------------------------------------------------
  const KEY = 9; // index of a job's key in its details (_details in reports/figures/jobs.py)
  const gantt = drawn.find((figure) => figure.id === "jobs");
  const choice = node("stall");

  function chainTable(stall) {
    const rows = new Map();
    gantt.traces.forEach((trace) => trace.customdata.forEach((row) => rows.set(row[KEY], { row, color: trace.marker.color })));
    const found = stall.jobs.filter((job) => rows.has(job)).map((job) => rows.get(job));
    const text = document.createElement("p");
    text.textContent = stall.text;
    if (found.length === 0) return [text];
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const titles = ["job", "kind and levels", "start (s)", "ran", "waited for a slot", "for the device", "read", "wrote",
                    "files", "reason"];
    for (const name of titles) {
      const cell = document.createElement("th");
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const { row, color } of found.slice(0, 60)) {
      const line = body.insertRow();
      const key = document.createElement("span");
      key.className = "key";
      key.style.background = color;
      line.insertCell().append(key, row[0]);
      for (const i of [1, 3, 4, 5, 10, 6, 7, 8, 2]) line.insertCell().textContent = row[i];
    }
    const box = document.createElement("div");
    box.className = "scroll";
    box.append(table);
    return [text, box];
  }

  function select(index) {
    const stall = gantt.extra.stalls[index];
    const chain = new Set(stall ? stall.jobs : []);
    const ink = css("--ink");
    for (const trace of gantt.traces) {
      const inChain = trace.customdata.map((row) => chain.has(row[KEY]));
      trace.marker.opacity = stall ? inChain.map((yes) => (yes ? 1 : 0.35)) : 1;
      trace.marker.line = { color: stall ? inChain.map((yes) => (yes ? ink : trace.marker.color)) : trace.marker.color,
                            width: stall ? inChain.map((yes) => (yes ? 2 : 1)) : 1 };
    }
    const band = stall ? [{ type: "rect", xref: "x", yref: "paper", x0: stall.start, x1: stall.end, y0: 0, y1: 1, layer: "below",
                            fillcolor: stall.color, opacity: 0.16, line: { width: 0 } }] : [];
    const layout = themed({ ...gantt.layout, shapes: band }, gantt.height_px);
    if (stall) layout.xaxis.range = stall.window;
    following = true;
    const frame = stall ? [{ type: "rect", xref: "x", yref: "paper", x0: stall.start, x1: stall.end, y0: 0, y1: 1,
                             line: { color: ink, width: 1.5, dash: "dot" } }] : [];
    Promise.all([Plotly.react(node("jobs"), gantt.traces, layout, config), Plotly.relayout(node("throughput"), { shapes: frame })])
      .finally(() => { following = false; });
    node("chain").replaceChildren(...(stall ? chainTable(stall) : []));
  }

  function start() {
    paint(root.dataset.theme);
    for (const figure of timelines) node(figure.id).on("plotly_relayout", (change) => follow(figure.id, change));
    if (gantt && choice) {
      const step = (by) => {
        choice.selectedIndex = Math.max(0, Math.min(choice.length - 1, choice.selectedIndex + by));
        select(Number(choice.value));
      };
      choice.addEventListener("change", () => select(Number(choice.value)));
      node("previous").addEventListener("click", () => step(-1));
      node("next").addEventListener("click", () => step(1));
      choice.value = "0";
      select(0);
    }
    root.dataset.ready = "true";
  }
  start();
})();
