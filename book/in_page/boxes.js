/**
 * What an opened box shows: what it reads and what leaves it as strips, and
 * in between what it computes with. A view is what opened.js knows of the
 * moment that the reader looks at.
 */

import { arcs } from "./arcs.js";
import { largest } from "./arithmetic.js";
import { attentionTable, explanation } from "./attention.js";
import { make, digits, chance, share, named } from "./elements.js";
import { thumbnail, nameOf, sidesOf, mapOf } from "./heads.js";
import { strip, labels, axis } from "./strips.js";

export const percent = (x) => `${Math.round(100 * x)}%`;

/** Whose words a box works on. */
export const sideOf = ({ side }) => (side === "encoder" ? "source" : "target");

export const plain = (piece) => piece.replaceAll("▁", "") || say("a blank");

/** The names of the stacks. */
export const SIDES = { encoder: say("encoder"), decoder: say("decoder") };

// By kind: the exported definition, and what the box computes. A letter
// before a bar is an axis: it lights up together with its like.
const KINDS = {
  embedding: ["TokenEmbedding", say("row of the table × √{d_model|64}")],
  positions: ["SinusoidalPositions", say("word + wave of its place")],
  norm: ["AddNorm", say("(x − mean) / deviation, over {d_model|64} numbers")],
  attention: [
    "MultiHeadAttention",
    say(
      "softmax({queries|Q} {keys|K}ᵀ / √{d_k|16}) {keys|V}, in {heads|4} heads",
    ),
  ],
  add: ["AddNorm", "x + Sublayer(Norm(x))"],
  feedForward: ["FeedForward", "max(0, x {d_ff|W₁} + b₁) {d_model|W₂} + b₂"],
  memory: ["Encoder", say("Norm(x), read by every decoder layer")],
  logits: ["EncoderDecoder", say("x · every row of the {vocab|1,280}")],
  softmax: ["greedy_decode", say("e to the power of a logit, over the sum")],
};

/** The formula and the code of a box. */
function origin(box, view) {
  const { kind, part } = box;
  const [name, formula] = KINDS[kind];
  const { href, code } = view.cells[name];
  const own = sideOf(box);
  const keys = part === "cross_attention" ? "source" : own;
  const same = { length: own, queries: own, keys };
  const withAxes = (text, marked) =>
    text.split(marked).map((part, i) => {
      const [name, said = name] = part.split("|");
      return i % 2 ? axis(same[name] ?? name, said) : part;
    });
  const words = /\b(length|queries|keys|d_model|d_ff|d_k|heads)\b/;
  return [
    make("p.op-formula", {}, ...withAxes(formula, /\{(\w+\|[^}]+)\}/)),
    make(
      "details.op-code",
      {},
      make("summary", {}, say("The code")),
      make("pre", { tabindex: 0 }, make("code", {}, ...withAxes(code, words))),
    ),
    make("p.op-cell", {}, ...phrase("Made by {}", make("a", { href }, name))),
  ];
}

/** A strip of an activation, by its name; the name says whose words. */
function activation(view, title, name, across) {
  const side = /^(encoder|source)/.test(name) ? "source" : "target";
  const pieces = view.pieces[side];
  return strip({ title, side, pieces, rows: view.seen[name], across });
}

const SHOWN = {
  embedding: (box, view) => [
    activation(view, say("What leaves it"), box.id),
    make(
      "p.at-note",
      {},
      say("Numbers of the rows: {}", view.ids[sideOf(box)].join(", ")),
    ),
  ],
  positions: (box, view) => [
    activation(view, say("Words"), box.reads),
    activation(view, say("+ waves of their places"), box.adds),
    activation(view, say("= what the first layer reads"), box.id),
  ],
  norm: (box, view) => [
    activation(view, say("What comes in"), box.reads),
    activation(view, say("What leaves it"), box.id),
  ],
  add: (box, view) => [
    ...mixture(box, view),
    activation(view, say("What came in"), box.reads),
    activation(view, say("+ what the box below has written"), box.adds),
    activation(view, say("= the sum, which goes on"), box.id),
    ...(box.norm
      ? [
          activation(
            view,
            say("After the norm: what the next box reads"),
            box.norm,
          ),
        ]
      : []),
  ],
  feedForward: (box, view, act) => {
    const hidden = `${box.id}.hidden`;
    const side = sideOf(box);
    const place = view.wordOf(side);
    const row = view.seen[hidden][place];
    const on = row.filter((x) => x > 0).length;
    const button = (unit) => {
      const off = view.silentUnit(box.id, unit);
      const click = () => act.silenceUnit(box.id, unit);
      const label = off
        ? say("Restore unit {}", unit + 1)
        : say("Silence unit {}", unit + 1);
      return make(
        "li",
        share(row[unit] / row[largest(row, 1)[0]] || 0),
        make("span", {}, say("unit {}", unit + 1)),
        make("span.at-p", {}, digits(row[unit], 2)),
        make(
          "button.at-quiet",
          {
            click,
            "aria-label": label,
          },
          off ? say("restore") : say("silence"),
        ),
      );
    };
    const silent = [...row.keys()].filter((unit) =>
      view.silentUnit(box.id, unit),
    );
    return [
      activation(view, say("What comes in"), box.reads),
      activation(view, say("128 units, none below zero"), hidden, "d_ff"),
      make(
        "p.op-small",
        {},
        say(
          "For {}, {} of {} units are above zero; the largest:",
          ...[plain(view.pieces[side][place]), on, row.length],
        ),
      ),
      make("ol.at-bars", {}, ...[...silent, ...largest(row, 5)].map(button)),
      activation(view, say("What leaves it"), box.id),
    ];
  },
  attention: (box, view, act) => {
    if (view.head?.name === box.id) return enlarged(view, view.head, act);
    const [queries] = sidesOf(box.id);
    const at = view.wordOf(queries);
    const heads = Array.from({ length: view.heads }, (_, head) => {
      const place = { name: box.id, head };
      const thumb = thumbnail(view, place);
      thumb.light({ side: queries, place: at });
      const row = mapOf(view.seen, place)[at];
      const [first] = largest(row, 1);
      const [, keys] = sidesOf(box.id);
      const said = `${plain(view.pieces[queries][at])} → ${plain(view.pieces[keys][first])} ${row[first].toFixed(2)}`;
      return make(
        view.silent(place) ? "button.op-head.op-off" : "button.op-head",
        { click: () => act.openHead(place) },
        make("span", {}, nameOf(place)),
        thumb,
        make("span.op-small", {}, said),
      );
    });
    return [
      activation(view, say("What comes in"), box.reads),
      make(".op-four", {}, ...heads),
      activation(
        view,
        say("What the four heads found, side by side"),
        `${box.id}.heads`,
      ),
      activation(view, say("What leaves it, after the output matrix"), box.id),
    ];
  },
  memory: (box, view) => [
    activation(view, say("What comes in"), box.reads),
    activation(view, say("The memory"), box.id),
  ],
  logits: (box, view) => [
    activation(view, say("What comes in; only the last row counts"), box.reads),
    bars(
      view,
      ({ logit }) => Math.max(0, logit / view.ranked[0].logit),
      ({ logit }) => digits(logit, 1),
    ),
  ],
  softmax: (box, view) => [
    bars(
      view,
      ({ p }) => p,
      ({ p }) => chance(p),
    ),
  ],
};

/** The likeliest subwords, with a bar and a number each. */
function bars(view, length, said) {
  const items = view.ranked.map((one, i) =>
    make(
      i ? "li" : "li.at-now",
      share(length(one)),
      make("span", { lang: "de" }, ...named(one.piece)),
      make("span.at-p", {}, said(one)),
    ),
  );
  return make("ol.at-bars", {}, ...items);
}

/** After an encoder layer: what a word's vector depends on. */
function mixture({ id, layer, side }, view) {
  if (side !== "encoder" || !id.endsWith("around_feed_forward")) return [];
  const place = view.wordOf("source");
  const row = view.mixed(place)[layer];
  const others = [...row.keys()].filter((i) => i !== place);
  const most = Math.max(...others.map((i) => row[i]));
  const items = others.map((i) =>
    make(
      "li.op-word",
      { "data-side": "source", "data-place": i, ...share(row[i] / most) },
      make("span", {}, plain(view.pieces.source[i])),
      make("span.at-p", {}, percent(row[i])),
    ),
  );
  const word = plain(view.pieces.source[place]);
  return [
    make(
      "p.op-small",
      {},
      ...phrase(
        "What has been mixed into {}? This is how far its vector moves, as a " +
          "share of its length, if another word’s embedding is set to zero:",
        make("em", {}, word),
      ),
    ),
    make("ol.at-bars.op-mixed", {}, ...items),
  ];
}

/** One head: its lines between words, its map, and how to silence it. */
function enlarged(view, place, act) {
  const { name, head } = place;
  const [queries, keys] = sidesOf(name);
  const [rows, columns] = [view.pieces[queries], view.pieces[keys]];
  const weights = mapOf(view.seen, place);
  const title = nameOf(place);
  const note = make(".at-origin", { role: "status" });
  const explain = (i, j) =>
    note.replaceChildren(
      ...explanation(
        view.seen[`${name}.weights`][i][head],
        j,
        rows[i],
        columns[j],
      ),
    );
  const lines = make(".op-canvas", {});
  const light = (at) => {
    const size = { at, rows: rows.length, columns: columns.length };
    lines.replaceChildren(...(weights[at] ? [arcs(weights[at], size)] : []));
  };
  light(view.wordOf(queries));
  const big = make(
    ".op-big",
    {},
    labels(queries, rows),
    lines,
    labels(keys, columns),
  );
  big.light = (word) => word?.side === queries && light(word.place);
  const button = (text, click) => make("button.at-quiet", { click }, text);
  const off = view.silent(place);
  const map = { title, rows, columns, weights, now: -1 };
  const region = { tabindex: 0, role: "region", "aria-label": title };
  return [
    make(
      ".at-row",
      {},
      make("strong", {}, title),
      button(say("all four heads"), () => act.openHead(undefined)),
      button(off ? say("restore this head") : say("silence this head"), () =>
        act.silence(place),
      ),
    ),
    big,
    make(
      "p.at-note",
      {},
      say("Each row is a query. Choose a cell to see how its number was made."),
    ),
    make(".at-map", region, attentionTable(map, explain)),
    note,
  ];
}

/** "Norm, decoder": a box, and where it is. */
function placeOf(box) {
  const { title, layer, kind } = box;
  const side = SIDES[box.side];
  if (layer !== undefined)
    return say("{}, {} layer {}", title, side, layer + 1);
  const single = /logits|softmax|memory/.test(kind);
  return single ? title : say("{}, {}", title, side);
}

/** What is said of a box that was opened outside the walk. */
export const openedSay = (box) =>
  say("You have opened *{}*. The button goes on with the walk.", placeOf(box));

/** Everything that an opened box shows. */
export function contents(box, view, act) {
  const [formula, code, cell] = origin(box, view);
  const title = make("p.op-title", {}, placeOf(box));
  const shown = SHOWN[box.kind](box, view, act);
  return [title, cell, formula, ...shown, code];
}
