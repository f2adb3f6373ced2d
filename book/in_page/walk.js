/**
 * The walk through the figure: steps, each with a box, what is to be looked
 * at, and a sentence made of the numbers of the reader's own sentence.
 */

import { largest } from "./arithmetic.js";
import { percent, plain } from "./boxes.js";
import { make } from "./elements.js";
import * as heads from "./heads.js";

const SIGNS = { ",": "the comma", ".": "the full stop" };
Object.assign(SIGNS, { "<s>": "the start mark", "</s>": "the end mark" });

/** Text with *words* in italics. */
export const rich = (text) =>
  text.split("*").map((part, i) => (i % 2 ? make("em", {}, part) : part));

/** A piece as a sentence speaks of it: a word in italics. */
export const spoken = (piece) => SIGNS[piece] ?? `*${plain(piece)}*`;

/**
 * The key that a head looks at most, from a place, and its weight.
 * @returns {[word: string, weight: string, place: number]}
 */
export function look(view, name, head, at) {
  const row = heads.mapOf(view.seen, { name, head })[at];
  const [, keys] = heads.sidesOf(name);
  const [first] = largest(row, 1);
  return [spoken(view.pieces[keys][first]), row[first].toFixed(2), first];
}

/** The head in which a word of the source looks most at a single word. */
function surest(view, name, at) {
  const most = Array.from({ length: view.heads }, (_, head) =>
    Math.max(...heads.mapOf(view.seen, { name, head })[at]),
  );
  return largest(most, 1)[0];
}

const shift = (from, to) =>
  from === to ? `stay at ${to}` : `go from ${from} to ${to}`;

const list = (words) =>
  [...new Set(words)].join(", ").replace(/, ([^,]*)$/, " and $1");

/** Other words that a word's vector depends on most, after layer 1. */
function mixed(view) {
  const [row] = view.mixed(view.focus);
  const others = largest(row, row.length).filter((i) => i !== view.focus);
  return others
    .slice(0, 2)
    .map((i) => `${spoken(view.pieces.source[i])} (${percent(row[i])})`);
}

/** What the walk ends with: whose silence moves the word most? */
function bet(v, name, chosen) {
  const said = spoken(v.ranked[0].piece);
  const layer = Number(name.split(".")[2]) + 1;
  if (chosen === undefined)
    return (
      `A bet: one head of the encoder’s layer ${layer} is silenced. Without ` +
      `which of them does ${said} lose most of its probability?`
    );
  const { p } = v.ranked[0];
  const left = Array.from({ length: v.heads }, (_, head) =>
    v.without({ name, head }),
  );
  const [worst] = largest(
    left.map((x) => p - x),
    1,
  );
  const without = (head) =>
    `without ${heads.nameOf({ name, head })}, ${said} would ` +
    shift(p.toFixed(2), left[head].toFixed(2));
  if (p.toFixed(2) === left[worst].toFixed(2))
    return `None of them decides: without any one, ${said} would stay at ${p.toFixed(2)}.`;
  const [word, weight] = look(v, name, chosen, v.focus);
  const [first, ...rest] = without(worst);
  return (
    `${first.toUpperCase()}${rest.join("")}. ` +
    (chosen === worst
      ? "You have won. "
      : `And ${without(chosen)}, though there ` +
        `${spoken(v.pieces.source[v.focus])} looks most at ${word} ` +
        `(${weight}). `) +
    "What does a head do, then? Change another, or its sentence."
  );
}

/**
 * The steps: `box` is opened, `head` enlarged, `say` gives the sentence; the
 * last one is a bet on a head. Those that are `short` make a walk of their own.
 */
export function steps(view) {
  const last = view.layers - 1;
  const enc = (l, part) => `encoder.layers.${l}.${part}`;
  const dec = (l, part) => `decoder.layers.${l}.${part}`;
  const it = (v) => spoken(v.pieces.source[v.focus]);
  const now = (v) => spoken(v.pieces.target.at(-1));
  const said = (v) => spoken(v.ranked[0].piece);
  const each = (v, name, at) =>
    list(Array.from({ length: v.heads }, (_, h) => look(v, name, h, at)[0]));
  return [
    {
      box: "source.tokens",
      short: true,
      say: (v) =>
        `The sentence becomes ${v.pieces.source.length} subwords, the last of which ` +
        "marks the end, and each takes its own row of 64 numbers out of a table.",
    },
    {
      box: "source",
      say: (v) =>
        "A second vector, different at every position, is added. It says " +
        `where a word stands: ${it(v)} is number ${v.focus + 1}. Follow its row.`,
    },
    {
      box: enc(0, "self_attention"),
      say: (v) =>
        "Each row is brought to mean 0 and variance 1. Now words look at each " +
        `other: in the four heads of layer 1, ${it(v)} ` +
        `looks most at ${each(v, enc(0, "self_attention"), v.focus)}.`,
    },
    {
      box: enc(0, "feed_forward"),
      say: (v) => {
        const row = v.seen[`${enc(0, "feed_forward")}.hidden`][v.focus];
        const on = row.filter((x) => x > 0).length;
        return (
          "What the heads found is added to the row, which is changed a little, " +
          "not replaced. Then each word passes alone through a network of " +
          `${row.length} units; for ${it(v)}, ${on} of them are above zero.`
        );
      },
    },
    {
      box: enc(0, "around_feed_forward"),
      say: (v) =>
        `What is in ${it(v)} after layer 1? If another word’s first vector ` +
        `were zero, that of ${it(v)} would move, as a share of its length: ` +
        `most for ${list(mixed(v))}.`,
    },
    {
      box: enc(last, "self_attention"),
      head: 0,
      short: true,
      say: (v) => {
        const name = enc(last, "self_attention");
        const [word, weight] = look(v, name, 0, v.focus);
        return (
          `In ${heads.nameOf({ name, head: 0 })}, head 1 of the encoder’s ` +
          `layer ${last + 1}, ${it(v)} looks most at ${word} (${weight}).`
        );
      },
    },
    {
      box: "encoder.norm",
      short: true,
      say: (v) =>
        `One more norm, and these ${v.pieces.source.length} vectors are the ` +
        "memory: all that the German side learns of the English sentence.",
    },
    {
      box: dec(0, "self_attention"),
      say: (v) =>
        "On the right, the German written so far comes in, " +
        `${v.pieces.target.length} subwords. Each looks at itself and at those ` +
        `before it; the mask hides the rest. The row of the last, ${now(v)}, has ` +
        "to find the next.",
    },
    {
      box: dec(last, "cross_attention"),
      head: view.decides.head,
      short: true,
      say: (v) => {
        const { name, head } = v.decides;
        const [word, weight, place] = look(v, name, head, v.moment);
        const inside = enc(last, "self_attention");
        const own = surest(v, inside, v.focus);
        const [other, share] = look(v, inside, own, place);
        const before =
          Number(share) < 0.5
            ? ""
            : ` In the encoder, ${word} itself looked at ${other} ` +
              `(${share}), in ${heads.nameOf({ name: inside, head: own })}.`;
        return (
          `Cross-attention: ${now(v)} asks, and the memory answers. In ` +
          `${heads.nameOf({ name, head })} it looks most at ${word} (${weight}).` +
          before
        );
      },
    },
    {
      box: "logits",
      say: (v) =>
        `The vector of ${now(v)} is multiplied by each of the ` +
        `${v.chances.length.toLocaleString("en")} rows of the table. The highest ` +
        `score, ${v.ranked[0].logit.toFixed(1)}, is that of ${said(v)}.`,
    },
    {
      box: "softmax",
      short: true,
      say: (v) =>
        `A softmax turns scores into probabilities, and ${said(v)} gets ` +
        `${v.ranked[0].p.toFixed(4)}. The likeliest is written, and read on ` +
        "the right like any other word; the memory stays as it was.",
    },
    {
      box: enc(last, "self_attention"),
      bet: true,
      say: (v) => bet(v, enc(last, "self_attention"), v.bet),
    },
  ];
}
