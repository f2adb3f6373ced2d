/**
 * The attention of one layer and head: as a map, and, for one of its rows, as
 * a shade on what that row looks at. The map and the account of how a weight
 * was made are for other figures, too.
 */

import { largest } from "./arithmetic.js";
import { make, share, digits, named, chips } from "./elements.js";

// where the package computes a weight, as the book shows it
const LINE = "01_attention.html#export-attention_weights";

/**
 * Weights as a table, a row for each query; what a row lacks is unseen.
 * @param {{title: string, rows: string[], columns: string[],
 *   weights: ArrayLike<number>[], now: number}} map now is the row that
 *   stands out, or -1
 * @param {(row: number, column: number) => void} explain called by a click
 */
export function attentionTable(
  { title, rows, columns, weights, now },
  explain,
) {
  const cell = (i, j) => {
    if (weights[i]?.[j] === undefined) return make("td.at-unseen");
    const text = weights[i][j].toFixed(2);
    const given = {
      title: say("{} on {}: {}", rows[i], columns[j], text),
      click: () => explain(i, j),
    };
    return make(
      "td",
      { ...share(weights[i][j]), ...given },
      make("span.visually-hidden", {}, text),
    );
  };
  const line = (row, i) =>
    make(
      i === now ? "tr.at-now" : "tr",
      {},
      make("th", { scope: "row" }, ...named(row)),
      ...columns.map((_, j) => cell(i, j)),
    );
  const names = columns.map((column) =>
    make("th", { scope: "col" }, make("span", {}, ...named(column))),
  );
  return make(
    "table",
    { "aria-label": title, style: `--columns: ${columns.length}` },
    make("thead", {}, make("tr", {}, make("td"), ...names)),
    make("tbody", {}, ...rows.map(line)),
  );
}

/** How a weight was made, by equation 1, and of which numbers. */
export function explanation(weights, j, row, column) {
  const { query, keys, scores, begin, width } = weights.made;
  const part = (x) => [...x.subarray(begin, begin + width)];
  const [q, k] = [part(query), part(keys[j])];
  const product = q.reduce((sum, x, i) => sum + x * k[i], 0);
  const [dot, score] = [digits(product, 2), digits(scores[j], 2)];
  const scaled = Math.abs(scores[j] * Math.sqrt(width) - product) < 1e-6;
  const list = (x) => x.map((value) => digits(value, 2)).join(" ");
  const line = make("a", { href: LINE }, "attention_weights");
  return [
    make(
      "p",
      {},
      ...phrase("How {} looks at {}: ", named(row), named(column)),
      scaled
        ? say("q · k = {}, over √{} it is {}. ", dot, width, score)
        : say("q · k = {}, without the scale that is {}. ", dot, score),
      ...phrase(
        "e to the power of {} is {} of the sum of such powers over all " +
          "pieces. This is {} of chapter 1.",
        ...[score, weights[j].toFixed(2), line],
      ),
    ),
    make("p.at-numbers", {}, `q = ${list(q)}`),
    make("p.at-numbers", {}, `k = ${list(k)}`),
  ];
}

export class AttentionView {
  /** @type {AttentionRun} */ run;
  /** @type {number} */ at; // the step, from 0
  /** @type {number | undefined} */ reader; // the piece that was chosen

  /**
   * @param {{layers: number, heads: number, layer: number, head: number}}
   *   sizes how many there are, and which one is shown first, from 1
   */
  constructor({ layers, heads, layer: first, head: firstHead }) {
    this.seen = make("p.at-source", {});
    this.map = make(".at-map", { tabindex: 0, role: "region" });
    this.summary = make("p.at-note", {});
    this.legend = make("p.at-note", {});
    this.origin = make(".at-origin", { role: "status" });
    const choose = (name, title, options) => {
      const names = options.map((text, i) =>
        make("option", { value: i }, text),
      );
      const id = `at-${name}`;
      const change = () => this.draw();
      const select = make("select", { id, change }, ...names);
      const label = make("label", { for: id }, title);
      return [select, make("span.at-field", {}, label, select)];
    };
    const numbers = (count) => Array.from({ length: count }, (_, i) => i + 1);
    const [kind, kindLabel] = choose("attention", say("attention"), [
      say("cross"),
      say("encoder"),
      say("decoder"),
    ]);
    const [layer, layerLabel] = choose("layer", say("layer"), numbers(layers));
    const [head, headLabel] = choose("head", say("head"), numbers(heads));
    this.kind = kind;
    this.layer = layer;
    this.head = head;
    layer.value = first - 1;
    head.value = firstHead - 1;
    this.element = make(
      "section",
      { "aria-label": say("Attention") },
      make(".at-row", {}, kindLabel, layerLabel, headLabel),
      this.seen,
      this.summary,
      this.legend,
      this.map,
      this.origin,
    );
  }

  /**
   * Show a translation at a step, counted from 0.
   * @param {AttentionRun} run
   * @param {number} at
   */
  show(run, at) {
    this.run = run;
    this.at = at;
    this.reader = undefined;
    this.draw();
  }

  /**
   * The weights of the chosen layer and head: rows of queries, what names
   * rows and columns, and the row that is looked at. The decoder's row is
   * that of the step. The encoder has no steps: its row is the piece that
   * the reader chose, and at first the one that cross-attention looks at.
   */
  chosen() {
    const [layer, head] = [Number(this.layer.value), Number(this.head.value)];
    const { read, target, maps, best } = this.run;
    const way = best.node.way.slice(0, -1);
    const said = ["<s>", ...target.slice(0, -1)];
    const cross = way.map((node) => node.cross[layer][head]);
    const moment = say(
      "each row is the moment before the piece on the left was written",
    );
    const before = (...given) =>
      phrase(
        "Before it wrote {}, {} of layer {}, head {} looked most at {}.",
        ...given,
      );
    return [
      {
        name: say("Cross-attention"),
        rows: target,
        columns: read,
        weights: cross,
        at: this.at,
        looked: before,
        queries: moment,
        lang: "en",
      },
      {
        name: say("Encoder self-attention"),
        rows: read,
        columns: read,
        weights: maps[layer].map((query) => query[head]),
        at: this.reader ?? largest(cross[this.at])[0],
        looked: (...given) =>
          phrase(
            "When it read {}, {} of layer {}, head {} looked most at {}.",
            ...given,
          ),
        queries: say("each row is a piece that the encoder reads"),
        lang: "en",
        choose: (i) => {
          this.reader = i;
          this.draw();
          this.seen.querySelectorAll("button")[i].focus();
        },
      },
      {
        name: say("Decoder self-attention"),
        rows: target,
        columns: said,
        weights: way.map((node) => node.decoder[layer][head]),
        at: this.at,
        looked: before,
        queries: moment,
        lang: "de",
      },
    ][Number(this.kind.value)];
  }

  /** The chosen map as a table; the row that is looked at stands out. */
  draw() {
    const map = this.chosen();
    const { name, rows, columns, weights } = map;
    const [layer, head] = [Number(this.layer.value), Number(this.head.value)];
    const title = say("{}, layer {}, head {}", name, layer + 1, head + 1);
    this.map.setAttribute("aria-label", title);
    this.legend.textContent =
      say("{}: {}. ", title, map.queries) +
      (map.choose ? say("Choose a piece above to look at its row. ") : "") +
      say("Choose a cell to see how its number was made.");
    this.origin.replaceChildren();
    this.map.replaceChildren(
      attentionTable({ title, rows, columns, weights, now: map.at }, (i, j) =>
        this.explain(weights[i], j, rows[i], columns[j]),
      ),
    );
    this.shade(map, [layer + 1, head + 1]);
  }

  /**
   * What a row looks at, shaded by how much, and the most of it in words.
   * @param {{name: string, rows: string[], columns: string[], at: number,
   *   weights: Weights[], lang: string, choose?: (i: number) => void,
   *   looked: (...given: unknown[]) => (string | Node)[]}} map
   * @param {number[]} which layer and head, from 1
   */
  shade({ rows, columns, at, choose, ...map }, which) {
    const weights = map.weights[at];
    const name = map.name.replace(/^./, (letter) => letter.toLowerCase());
    const looks = columns.filter((_, i) => weights[i] !== undefined);
    const shaded = (_, i) => ({
      ...share(weights[i]),
      ...(choose && {
        "aria-pressed": String(i === at),
        click: () => choose(i),
      }),
    });
    const tag = choose ? "button.at-chip" : "span.at-chip";
    this.seen.lang = map.lang;
    this.seen.replaceChildren(...chips(tag, looks, shaded));
    const [first, second] = largest(weights, 2);
    const looked = (i) => {
      const click = () => this.explain(weights, i, rows[at], columns[i]);
      const number = weights[i].toFixed(2);
      const given = { title: say("How it was made"), click };
      const button = make("button.at-quiet", given, number);
      return [named(columns[i]), button];
    };
    const most =
      second === undefined
        ? phrase("{} ({})", ...looked(first))
        : phrase("{} ({}) and {} ({})", ...looked(first), ...looked(second));
    const said = map.looked(named(rows[at]), name, ...which, most);
    this.summary.replaceChildren(...said);
  }

  explain(...weight) {
    this.origin.replaceChildren(...explanation(...weight));
  }
}
