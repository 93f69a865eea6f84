"use strict";
// Questions of a lesson: a guess opens what follows, with the guess drawn beside the simulated answer.
(() => {
  const text = (guess) => (Array.isArray(guess) ? guess.join(", ") : String(guess));

  // Return the guess in a form: a letter, a number, or the numbers of a curve.
  function guessIn(form) {
    const fields = [...form.querySelectorAll("input")];
    const chosen = fields.find((field) => field.type === "radio" && field.checked);
    if (chosen) return chosen.value;
    const numbers = fields.map((field) => field.valueAsNumber);
    return numbers.length > 1 ? numbers : numbers[0];
  }

  // Write the guess into its place in the figure of an answer (guesses.py, with_guess).
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

  async function open(form) {
    const guess = guessIn(form);
    const place = document.querySelector(`.hidden-answer[data-key="${form.dataset.key}"]`);
    const packed = form.parentElement.querySelector("script").textContent;
    const { html, figures } = JSON.parse(new TextDecoder().decode(await lsmlab.inflate(packed)));
    place.innerHTML = html;
    for (const verdict of place.querySelectorAll(`.verdict[data-key="${form.dataset.key}"]`)) {
      verdict.prepend(`Your guess: ${text(guess)}. `);
    }
    for (const figure of figures) draw(figure, guess);
    lsmlab.drawn.push(...figures);
    lsmlab.paint(lsmlab.root.dataset.theme);
    for (const field of form.elements) field.disabled = true;
  }

  lsmlab.ready.then(() => {
    for (const form of document.querySelectorAll(".question form")) {
      form.addEventListener("submit", (event) => { event.preventDefault(); open(form); });
    }
  });
})();
