/**
 * The walk through the figure: steps, each with a box, what is to be looked
 * at, and a sentence made of the numbers of the reader's own sentence.
 */

import { largest } from "./arithmetic.js";
import { percent, plain } from "./boxes.js";
import { make, joined } from "./elements.js";
import * as heads from "./heads.js";

const SIGNS = {
  ",": say("the comma"),
  ".": say("the full stop"),
  "<s>": say("the start mark"),
  "</s>": say("the end mark"),
};

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

/** Words, each once, as a list. */
function list(words) {
  const each = [...new Set(words)];
  const last = each.pop();
  const others = each.join(say(", "));
  return others ? say("{} and {}", others, last) : last;
}

/** Other words that a word's vector depends on most, after layer 1. */
function mixed(view) {
  const [row] = view.mixed(view.focus);
  const others = largest(row, row.length).filter((i) => i !== view.focus);
  return others
    .slice(0, 2)
    .map((i) => say("{} ({})", spoken(view.pieces.source[i]), percent(row[i])));
}

/** What the walk ends with: whose silence moves the word most? */
function bet(v, name, chosen) {
  const said = spoken(v.ranked[0].piece);
  const layer = Number(name.split(".")[2]) + 1;
  if (chosen === undefined)
    return say(
      "A bet: one head of the encoder’s layer {} is silenced. Without which " +
        "of them does {} lose most of its probability?",
      ...[layer, said],
    );
  const { p } = v.ranked[0];
  const now = p.toFixed(2);
  const left = Array.from({ length: v.heads }, (_, head) =>
    v.without({ name, head }),
  );
  const [worst] = largest(
    left.map((x) => p - x),
    1,
  );
  const [least, own] = [left[worst].toFixed(2), left[chosen].toFixed(2)];
  if (now === least)
    return say(
      "None of them decides: without any one, {} would stay at {}.",
      ...[said, now],
    );
  const nameOf = (head) => heads.nameOf({ name, head });
  const looks = [spoken(v.pieces.source[v.focus])];
  looks.push(...look(v, name, chosen, v.focus).slice(0, 2));
  const yours = () =>
    now === own
      ? say(
          "And without {}, {} would stay at {}, though there {} looks most at " +
            "{} ({}).",
          ...[nameOf(chosen), said, now, ...looks],
        )
      : say(
          "And without {}, {} would go from {} to {}, though there {} looks " +
            "most at {} ({}).",
          ...[nameOf(chosen), said, now, own, ...looks],
        );
  return joined(
    say(
      "Without {}, {} would go from {} to {}.",
      ...[nameOf(worst), said, now, least],
    ),
    chosen === worst ? say("You have won.") : yours(),
    say("What does a head do, then? Change another, or its sentence."),
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
        say(
          "The sentence becomes {} subwords, the last of which marks the end, " +
            "and each takes its own row of 64 numbers out of a table.",
          v.pieces.source.length,
        ),
    },
    {
      box: "source",
      say: (v) =>
        say(
          "A second vector, different at every position, is added. It says " +
            "where a word stands: {} is number {}. Follow its row.",
          ...[it(v), v.focus + 1],
        ),
    },
    {
      box: enc(0, "self_attention"),
      say: (v) =>
        say(
          "Each row is brought to mean 0 and variance 1. Now words look at each " +
            "other: in the four heads of layer 1, {} looks most at {}.",
          ...[it(v), each(v, enc(0, "self_attention"), v.focus)],
        ),
    },
    {
      box: enc(0, "feed_forward"),
      say: (v) => {
        const row = v.seen[`${enc(0, "feed_forward")}.hidden`][v.focus];
        const on = row.filter((x) => x > 0).length;
        return say(
          "What the heads found is added to the row, which is changed a little, " +
            "not replaced. Then each word passes alone through a network of " +
            "{} units; for {}, {} of them are above zero.",
          ...[row.length, it(v), on],
        );
      },
    },
    {
      box: enc(0, "around_feed_forward"),
      say: (v) =>
        say(
          "What is in {} after layer 1? If another word’s first vector were " +
            "zero, that of {} would move, as a share of its length: most for {}.",
          ...[it(v), it(v), list(mixed(v))],
        ),
    },
    {
      box: enc(last, "self_attention"),
      head: 0,
      short: true,
      say: (v) => {
        const name = enc(last, "self_attention");
        const [word, weight] = look(v, name, 0, v.focus);
        return say(
          "In {}, head 1 of the encoder’s layer {}, {} looks most at {} ({}).",
          ...[heads.nameOf({ name, head: 0 }), last + 1, it(v), word, weight],
        );
      },
    },
    {
      box: "encoder.norm",
      short: true,
      say: (v) =>
        say(
          "One more norm, and these {} vectors are the memory: all that the " +
            "German side learns of the English sentence.",
          v.pieces.source.length,
        ),
    },
    {
      box: dec(0, "self_attention"),
      say: (v) =>
        say(
          "On the right, the German written so far comes in, {} subwords. Each " +
            "looks at itself and at those before it; the mask hides the rest. " +
            "The row of the last, {}, has to find the next.",
          ...[v.pieces.target.length, now(v)],
        ),
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
          Number(share) >= 0.5 &&
          say(
            "In the encoder, {} itself looked at {} ({}), in {}.",
            ...[word, other, share, heads.nameOf({ name: inside, head: own })],
          );
        const asks = say(
          "Cross-attention: {} asks, and the memory answers. In {} it looks " +
            "most at {} ({}).",
          ...[now(v), heads.nameOf({ name, head }), word, weight],
        );
        return joined(asks, before);
      },
    },
    {
      box: "logits",
      say: (v) =>
        say(
          "The vector of {} is multiplied by each of the {} rows of the table. " +
            "The highest score, {}, is that of {}.",
          ...[now(v), v.chances.length.toLocaleString("en")],
          ...[v.ranked[0].logit.toFixed(1), said(v)],
        ),
    },
    {
      box: "softmax",
      short: true,
      say: (v) =>
        say(
          "A softmax turns scores into probabilities, and {} gets {}. The " +
            "likeliest is written, and read on the right like any other word; " +
            "the memory stays as it was.",
          ...[said(v), v.ranked[0].p.toFixed(4)],
        ),
    },
    {
      box: enc(last, "self_attention"),
      bet: true,
      say: (v) => bet(v, enc(last, "self_attention"), v.bet),
    },
  ];
}
