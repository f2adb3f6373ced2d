/**
 * From a word to those it looks at: lines, as dark as the weight, from a
 * place among the queries at the left to the keys at the right.
 */
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function shape(name, attributes, ...inside) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }

  /**
   * Lines in a box of 100 by 100, stretched to the size of what it is put in.
   * @param {ArrayLike<number>} weights of one query
   * @param {{at: number, rows: number, columns: number}} places the query's
   *   place, of how many, and how many keys there is room for
   */
  function arcs(weights, { at, rows, columns }) {
    const from = (100 * (at + 0.5)) / rows;
    const lines = Array.from(weights, (weight, j) => {
      const to = (100 * (j + 0.5)) / columns;
      return shape("path", {
        d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`,
        style: `--share: ${weight.toFixed(3)}`,
      });
    });
    const box = { viewBox: "0 0 100 100", preserveAspectRatio: "none" };
    return shape(
      "svg",
      { ...box, class: "op-arcs", "aria-hidden": true },
      ...lines,
    );
  }

  Object.assign((globalThis.inPage ??= {}), { arcs, shape });
})();
