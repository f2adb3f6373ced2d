// What every page can do.
"use strict";

// Whatever scrolls sideways fades where it goes on, and can be reached with
// Tab; nothing else of it can.
const scrolling =
  "article :is(table.table, table.genindextable, div.math, pre," +
  " .at-map, .widget-stage, .wide)";

function fade(box) {
  const after = box.scrollWidth - box.clientWidth - box.scrollLeft;
  const more = { left: box.scrollLeft > 1, right: after > 1 };
  const sides = Object.keys(more).filter((side) => more[side]);
  if (sides.length) box.dataset.more = sides.join(" ");
  else delete box.dataset.more;
}

// On a phone the rows of a table are cards where it says so, or does not fit;
// their lines say their column.
const phone = matchMedia("(max-width: 720px)");

/** @param {HTMLTableElement} table */
function makeCards(table) {
  const fits = table.scrollWidth <= table.clientWidth + 1;
  if (phone.matches && !fits) table.classList.add("cards");
  if (!table.matches(".cards")) return;
  const [head] = table.rows;
  const names = [...head.cells].map((cell) => cell.textContent.trim());
  for (const row of table.tBodies[0].rows)
    [...row.cells].slice(1).forEach((cell, i) => {
      if (cell.textContent.trim()) cell.dataset.column ??= names[i + 1];
    });
}

function mark(box) {
  if (box.matches("table.table")) makeCards(box);
  const holds = box.matches(".wide"); // a button, which Tab reaches
  if (!holds && box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
  fade(box);
}

// A fold may open, a phone may be turned; in the next frame, as a table that
// becomes cards changes its size again.
const sizes = new ResizeObserver((entries) =>
  requestAnimationFrame(() => {
    for (const { target } of entries) mark(target);
  }),
);

function markAll() {
  for (const box of document.querySelectorAll(scrolling)) {
    sizes.observe(box);
    mark(box);
  }
}

markAll();
addEventListener("load", () => {
  markAll();
  globalThis.MathJax?.startup?.promise?.then(markAll); // formulas have widths
  document.fonts.ready.then(markAll);
  const drawn = new MutationObserver(markAll);
  for (const live of document.querySelectorAll(".widget, .at-place"))
    drawn.observe(live, { childList: true, subtree: true });
  const scrolled = ({ target }) => target.matches?.(scrolling) && fade(target);
  document.addEventListener("scroll", scrolled, true);
});

// What opens the list of a page's own pages has no name in the theme.
for (const toggle of document.querySelectorAll(".bd-sidebar li > details")) {
  const [summary] = toggle.children;
  const parent = toggle.previousElementSibling?.textContent ?? "";
  summary.ariaLabel = say("Pages of {}", parent.trim());
}

// On paper answers stand at the page's end; a browser that cannot print what
// is folded finds them open.
const places = new Map();
addEventListener("beforeprint", () => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const answers = document.querySelectorAll("article details.answer");
  for (const answer of answers) {
    const { open } = answer;
    const place = document.createComment("answer");
    places.set(answer, { place, open });
    answer.replaceWith(place);
    answer.open = true;
  }
  document.querySelector("article")?.append(...answers);
});
addEventListener("afterprint", () => {
  for (const [answer, { place, open }] of places) {
    place.replaceWith(answer);
    answer.open = open;
  }
  places.clear();
});

// Which way through the book a reader has taken; CSS shows what belongs to it,
// and each page recalls it in its head, from its address or from here.
document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  // On a phone the contents give way to the section that was chosen.
  if (target.closest("a[href^='#']")) target.closest("dialog")?.close();
  const taken = target.closest("[data-takes]");
  if (!taken) return;
  const { takes } = /** @type {HTMLElement} */ (taken).dataset;
  localStorage.setItem("way", takes ?? "");
  document.documentElement.dataset.way = takes ?? "";
  if (!takes) history.replaceState(null, "", location.pathname + location.hash);
});
// Which edition a reader has chosen: links to its pages lead there, and the
// switch leads to the same place of a page.
document.addEventListener(
  "click",
  (event) => {
    const target = /** @type {Element} */ (event.target);
    const link = /** @type {HTMLAnchorElement | null} */ (
      target.closest("a[href]")
    );
    if (!link) return;
    const { edition } = link.dataset;
    const html = document.documentElement;
    if (edition !== undefined) {
      localStorage.setItem("edition", edition);
      html.dataset.edition = edition;
      link.search = location.search;
      link.hash = location.hash;
      return;
    }
    const chosen = html.dataset.edition;
    const [, place, page] = link.href.match(/(.*\/)book\/(\w+)\.html/) ?? [];
    const root = new URL(`${html.dataset.content_root}`, location.href).href;
    const pages = document.querySelector("meta[name=editions]");
    if (!chosen || place !== root || !pages?.matches(`[content~="${page}"]`))
      return;
    link.href = `${root}${chosen}/${link.href.slice(root.length)}`;
  },
  true,
);
