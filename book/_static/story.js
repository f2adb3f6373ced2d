// Story or code: whether the folded cells of every page are open.
"use strict";

(() => {
  /** @type {NodeListOf<HTMLButtonElement>} */
  const choices = document.querySelectorAll(".story button");
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const folds = document.querySelectorAll("article details.hide");

  function show(kind) {
    for (const choice of choices)
      choice.ariaPressed = String(choice.value === kind);
    for (const fold of folds) fold.open = kind === "code";
  }

  for (const choice of choices)
    choice.addEventListener("click", () => {
      localStorage.setItem("reading", choice.value);
      show(choice.value);
    });
  // Another open page may choose too; between processes a choice takes time.
  addEventListener("storage", ({ key, newValue }) => {
    if (key === "reading") show(newValue);
  });
  if (localStorage.getItem("reading") === "code") show("code");

  // On a phone lines of code wrap; how far in each begins, CSS cannot tell.
  /** @type {NodeListOf<HTMLElement>} */
  const lines = document.querySelectorAll("article .cell_input .hll");
  if (matchMedia("(max-width: 600px)").matches)
    for (const line of lines)
      line.style.setProperty("--begins", `${line.textContent.search(/\S/)}ch`);
})();
