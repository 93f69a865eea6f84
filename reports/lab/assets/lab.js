"use strict";
// Functions of the laboratory's page that need no server. Dash calls those of window.dash_clientside.lab.
(() => {
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const none = () => window.dash_clientside.no_update;
  const KEPT = "lsmlab-lab-choice", TAB = "lsmlab-lab-tab", THEME = "lsmlab-lab-theme";

  // ---- light and dark -------------------------------------------------------------------------------------------
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = localStorage.getItem(THEME) || (prefersDark.matches ? "dark" : "light");

  function theme(clicks) {
    if (clicks) {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem(THEME, root.dataset.theme);
      themeFrame();
    }
    return root.dataset.theme;
  }

  // The page of results has a switch of its own: press it if the page is not as the laboratory.
  function themeFrame() {
    const page = document.getElementById("frame")?.contentDocument;
    const button = page && page.getElementById("theme");
    if (button && page.documentElement.dataset.theme !== root.dataset.theme) button.click();
  }
  document.addEventListener("load", (event) => { if (event.target.id === "frame") themeFrame(); }, true);

  // ---- curves ---------------------------------------------------------------------------------------------------
  let before = null; // figures before the last change, whose lines are drawn dashed
  let current = null;

  function axis(own, narrow) {
    return { gridcolor: css("--rule"), linecolor: css("--rule"), zerolinecolor: css("--rule"), automargin: true, fixedrange: true,
             ...own, title: { font: { size: narrow ? 13 : 14 }, standoff: 8, ...(own.title || {}) } };
  }

  function ghosts(id) {
    const figure = before && before.find((f) => f.id === id);
    if (!figure) return [];
    return figure.traces.filter((t) => t.line && t.line.width > 1.3 && !t.fill && t.opacity !== 0).map((t) => ({
      ...t, mode: "lines", name: `${t.name}, before`, showlegend: false, hoverinfo: "skip", hovertemplate: undefined,
      line: { ...t.line, dash: "dot", width: 1.4, color: css("--soft") } }));
  }

  function themed(figure, end) {
    const narrow = window.innerWidth < 700;
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "x unified",
      font: { family: "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif", size: narrow ? 12 : 14, color: css("--ink") },
      margin: { l: narrow ? 44 : 64, r: 12, t: 8, b: 40 }, dragmode: false,
      hoverlabel: { bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--ink"), size: 13.5 } },
      ...figure.layout,
    };
    layout.height = 270;
    layout.annotations = (figure.layout.annotations || []).map((own) => ({ bgcolor: css("--card"), opacity: 0.8, ...own, font: { size: 12 } }));
    layout.legend = { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size: 13 } };
    layout.xaxis = { ...layout.xaxis, range: [0, end], autorange: false };
    for (const name of Object.keys(layout)) if (/^[xy]axis\d*$/.test(name)) layout[name] = axis(layout[name], narrow);
    return { data: [...ghosts(figure.id), ...figure.traces], layout };
  }

  function draw(curves) {
    if (!curves) return [none(), none()];
    if (curves !== current) {
      before = current && current.figures;
      current = curves;
    }
    root.dataset.drawn = String(Number(root.dataset.drawn || 0) + 1); // for measurements and tests
    return curves.figures.slice(0, 2).map((figure) => themed(figure, curves.end_s));
  }

  // ---- form -----------------------------------------------------------------------------------------------------
  function apply(wanted) {
    if (!wanted || !wanted.entries) return Array(5).fill(none());
    const { entries, options_file, imported } = wanted;
    return [entries.engine, entries.device, entries.workload, { options_file, imported }, { values: wanted.values, at: Date.now() }];
  }

  // Slider and text of a setting follow each other; a text between two positions leaves the slider where it is.
  function match(place, text, steps) {
    const moved = window.dash_clientside.callback_context.triggered.some((t) => t.prop_id.includes('"slider"'));
    if (moved) {
      const chosen = steps[Number(place)];
      return [chosen === text ? none() : chosen, none()];
    }
    const found = steps.indexOf((text || "").trim());
    return [none(), found < 0 || found === Number(place) ? none() : found];
  }

  // Requests for previews have ascending numbers, also after a reload: the server takes the highest as the latest.
  let last = 0;
  function number() {
    last = Math.max(last + 1, Date.now());
    return last;
  }

  function restore(start, clicks) {
    let tab = sessionStorage.getItem(TAB);
    if (!tab) sessionStorage.setItem(TAB, (tab = crypto.randomUUID()));
    const kept = clicks ? null : sessionStorage.getItem(KEPT);
    return [tab, kept ? JSON.parse(kept) : { ...start, again: clicks }];
  }

  function keep(choice) {
    if (choice) sessionStorage.setItem(KEPT, JSON.stringify(choice));
    return none();
  }

  // An error begins with the key of its setting: mark that field.
  function point(message) {
    document.querySelectorAll(".field.bad").forEach((field) => {
      field.classList.remove("bad");
      field.querySelector("input.text, input[type=text]")?.removeAttribute("aria-invalid");
    });
    const text = typeof message === "string" ? message : "";
    for (const field of document.querySelectorAll(".field[data-key]")) {
      if (!text.startsWith(`${field.dataset.key}:`)) continue;
      field.classList.add("bad");
      field.querySelector("input.text, input[type=text]")?.setAttribute("aria-invalid", "true");
    }
    return none();
  }

  // ---- results --------------------------------------------------------------------------------------------------
  function frame(address) {
    if (!address || !address.page) return Array(4).fill(none());
    const path = `/pages/${address.page.split("/").map(encodeURIComponent).join("/")}`;
    return [`${path}?${Date.now()}`, path, address.title || "Page", false];
  }

  async function copy() {
    const button = window.dash_clientside.callback_context.triggered[0].prop_id;
    const what = button.startsWith("copy-yaml") ? "yaml" : "command";
    try {
      await navigator.clipboard.writeText(document.getElementById(what).textContent);
      return what === "yaml" ? "The YAML is in the clipboard." : "The command is in the clipboard.";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(document.getElementById(what));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      return "The browser refused the clipboard; the text is marked: press Ctrl-C.";
    }
  }

  // ---- names for screen readers that Dash's components cannot take ----------------------------------------------
  function label() {
    // Dash puts a hidden field before the button of a list for the keyboard; the button itself serves everybody.
    for (const target of document.querySelectorAll(".dash-dropdown-focus-target:not([tabindex='-1'])")) target.tabIndex = -1;
    for (const button of document.querySelectorAll("button.dash-dropdown:not([tabindex='0'])")) button.tabIndex = 0;
    for (const [id, text] of [["entry-engine", "engine"], ["entry-device", "device"], ["entry-workload", "workload"]]) {
      document.getElementById(id)?.setAttribute("aria-label", `${text}: ${document.getElementById(`${id}-value`)?.textContent || ""}`);
    }
    for (const file of document.querySelectorAll(".upload input[type=file]:not([aria-label])")) {
      file.setAttribute("aria-label", file.closest(".upload").textContent);
    }
    const kept = document.getElementById("marked"); // check boxes in a group; Dash calls them options of a list box
    if (kept) kept.setAttribute("role", "group"), kept.setAttribute("aria-label", "kept runs");
    for (const row of document.querySelectorAll("#marked label[role]")) {
      row.removeAttribute("role");
      row.removeAttribute("aria-selected");
    }
    for (const field of document.querySelectorAll(".field[data-key]")) {
      const key = field.dataset.key, hint = field.querySelector(".hint");
      for (const input of field.querySelectorAll("input, button.dash-dropdown")) {
        if (input.dataset.labelled === key) continue;
        input.dataset.labelled = key;
        input.setAttribute("aria-label", input.type === "range" ? `${key}, slider` : key);
        if (hint) input.setAttribute("aria-describedby", hint.id);
      }
      const slider = field.querySelector("input[type=range]"), text = field.querySelector("input.text, input[type=text]");
      if (slider && text) slider.setAttribute("aria-valuetext", text.value || "not set");
    }
  }
  new MutationObserver(label).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["value"] });

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    lab: { theme, draw, apply, match, number, restore, keep, point, frame, copy },
  });
})();
