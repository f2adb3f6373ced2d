// Story or code: whether the folded cells of every page are open.
"use strict";

(() => {
  /** @type {NodeListOf<HTMLButtonElement>} */
  const choices = document.querySelectorAll(".story button");
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const folds = document.querySelectorAll("article details.hide");

  // What a reader sees in both, in the story and in the code.
  const seen = [
    ...document.querySelectorAll("article :is(h1, h2, h3, p, li, tr)"),
  ].filter((part) => !part.closest("details.hide"));

  // Folds open and close, and what is nearest to the window's top stays where
  // it is: all else moves away from it, or towards it.
  function show(kind) {
    const html = document.documentElement;
    const from = (part) => Math.abs(part.getBoundingClientRect().top);
    const [nearest] = seen
      .filter((part) => part.checkVisibility())
      .sort((one, other) => from(one) - from(other));
    const top = () => nearest?.getBoundingClientRect().top ?? 0;
    const before = Math.abs(top()) < innerHeight ? top() : 0;
    html.style.overflowAnchor = "none"; // the browser may take another part
    for (const choice of choices)
      choice.ariaPressed = String(choice.value === kind);
    for (const fold of folds) fold.open = kind === "code";
    scrollBy(0, top() - before);
    requestAnimationFrame(() => (html.style.overflowAnchor = ""));
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
  for (const line of lines)
    line.style.setProperty("--begins", `${line.textContent.search(/\S/)}ch`);
})();
