/**
 * From a word to those it looks at, or from those that look at it: lines, as
 * dark as the weight, from queries at the left to keys at the right.
 */

const SVG = "http://www.w3.org/2000/svg";

export function shape(name, attributes, ...inside) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

/**
 * Lines in a box of 100 by 100, stretched to the size of what it is put in.
 * @param {ArrayLike<number>} weights of one query, or of one key (`into`)
 * @param {{at: number, rows: number, columns: number, into?: boolean}} places
 *   its place, and how many queries and keys there is room for
 */
export function arcs(weights, { at, rows, columns, into = false }) {
  const middle = (place, count) => (100 * (place + 0.5)) / count;
  const lines = Array.from(weights, (weight, j) => {
    const from = middle(into ? j : at, rows);
    const to = middle(into ? at : j, columns);
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
