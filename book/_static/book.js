// Whatever scrolls sideways can be reached with Tab, and nothing else of it.
const scrolling =
  "article :is(table.table, table.genindextable, div.math, div.cell_output pre)";

const mark = () => {
  for (const box of document.querySelectorAll(scrolling)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};

addEventListener("load", () => {
  mark();
  window.MathJax?.startup?.promise?.then(mark); // formulas have their widths
  addEventListener("resize", mark);
});

// What opens the list of a page's own pages has no name in the theme.
for (const toggle of document.querySelectorAll(".bd-sidebar li > details")) {
  const { textContent: parent } = toggle.previousElementSibling;
  toggle.firstElementChild.ariaLabel = `Pages of ${parent.trim()}`;
}
