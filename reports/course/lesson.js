"use strict";
// Questions of a lesson: a guess opens what follows, with the guess drawn beside the simulated answer. A printed page
// shows all answers. This script stands before page.js, whose functions it uses from DOMContentLoaded on: listeners of the
// window run in the order of their registration, and the answers have to be open when page.js draws for the paper.
(() => {
  const text = (guess) => (Array.isArray(guess) ? guess.join(", ") : String(guess));
  const forms = [...document.querySelectorAll(".question form")];
  const answers = new Map(); // what each form opens: its HTML and figures
  const placeOf = (form) => document.querySelector(`.hidden-answer[data-key="${form.dataset.key}"]`);

  // Return the guess in a form: a letter, a number, or the numbers of a curve.
  function guessIn(form) {
    const fields = [...form.querySelectorAll("input")];
    const chosen = fields.find((field) => field.type === "radio" && field.checked);
    if (chosen) return chosen.value;
    const numbers = fields.map((field) => field.valueAsNumber);
    return numbers.length > 1 ? numbers : numbers[0];
  }

  // Write the guess into its place in the figure of an answer (classroom.py, with_guess).
  function draw(figure, guess) {
    const place = figure.extra.guess;
    if (!place) return;
    const mine = figure.traces[place.trace];
    if (place.kind === "curve") mine.y = [].concat(guess);
    else if (place.kind === "number") mine.x = [guess];
    else {
      const at = place.letters.indexOf(guess);
      Object.assign(mine, { x: [mine.x[at]], y: [mine.y[at]], visible: true });
    }
  }

  // Write the answer of a form into the page and return its figures, which are new: page.js knows drawn ones by identity.
  function fill(form) {
    const { html, figures } = structuredClone(answers.get(form));
    placeOf(form).innerHTML = html;
    lsmlab.drawn.push(...figures);
    return figures;
  }

  function open(form) {
    const guess = guessIn(form);
    const figures = fill(form);
    for (const verdict of placeOf(form).querySelectorAll(`.verdict[data-key="${form.dataset.key}"]`)) {
      verdict.prepend(`Your guess: ${text(guess)}. `);
    }
    for (const figure of figures) draw(figure, guess);
    lsmlab.paint(lsmlab.root.dataset.theme);
    for (const field of form.elements) field.disabled = true;
  }

  async function unpack(form) {
    const packed = form.parentElement.querySelector("script").textContent;
    answers.set(form, JSON.parse(new TextDecoder().decode(await lsmlab.inflate(packed))));
  }

  // ---- paper ------------------------------------------------------------------------------------------------------
  const PAPER_PX = 640; // width of a figure on A4 with margins of 20 mm
  let folded = []; // details that were closed before
  let opened = []; // forms whose answers were not open before, with the figures of their answers

  // Open all answers and folds. Runs before the script of the page, which then draws the new figures.
  function unfold() {
    opened = forms.filter((form) => answers.has(form) && !placeOf(form).innerHTML).map((form) => [form, fill(form)]);
    folded = [...document.querySelectorAll("details:not([open], .code)")];
    for (const fold of folded) fold.open = true;
  }

  // Fit the figures to the paper. Runs after the script of the page.
  function fit() {
    for (const div of lsmlab.drawn.map(({ id }) => lsmlab.node(id))) if (div.layout) Plotly.relayout(div, { width: PAPER_PX });
  }

  function fold() {
    for (const [form, figures] of opened) {
      placeOf(form).innerHTML = "";
      for (const figure of figures) lsmlab.drawn.splice(lsmlab.drawn.indexOf(figure), 1);
    }
    for (const fold of folded) fold.open = false;
    setTimeout(() => window.dispatchEvent(new Event("resize"))); // Plotly then takes the width of the screen again
  }

  window.addEventListener("beforeprint", unfold);
  window.addEventListener("afterprint", fold);
  document.addEventListener("DOMContentLoaded", async () => {
    window.addEventListener("beforeprint", fit);
    const unpacked = lsmlab.ready.then(() => Promise.all(forms.map(unpack)));
    for (const form of forms) {
      form.addEventListener("submit", (event) => { event.preventDefault(); unpacked.then(() => open(form)); });
    }
    await unpacked;
    lsmlab.root.dataset.answers = "ready"; // a page can be printed from now on
  });
})();
