/**
 * Beam search, as in chapter 10, for one sentence; greedy search is a beam of
 * one place. It is a generator: it hands out what it has after every step, so
 * that the page can show the step before the next one is computed.
 */

import { largest } from "./arithmetic.js";
import { stripped } from "./casing.js";
import { emphasised } from "./emphasis.js";
import { Model, Node } from "./model.js";
import { Reader } from "./reading.js";
import { BEGIN, END, Tokenizer } from "./tokenizer.js";

const SHOWN = 6; // candidates that a node keeps, to be looked at

/** lp(n) = ((5 + n) / 6)^alpha. */
const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/**
 * The tokens by which a hypothesis would say the same n tokens in a row
 * twice: wherever its last n - 1 tokens stood before, the one after them.
 */
function repeating(node, n) {
  const tokens = node.way.map(({ token }) => token);
  const last = tokens.length - n + 1;
  const found = new Set();
  for (let start = 0; n > 0 && start < last; start++) {
    const same = (_, i) => tokens[start + i] === tokens[last + i];
    if (tokens.slice(last).every(same)) found.add(tokens[start + n - 1]);
  }
  return found;
}

/**
 * Translate.
 *
 * Every step gives `{ places, finished }`: the best continuations, best
 * first, each `{ node, logP, state }` with the state live, finished or
 * closed (a finished hypothesis keeps its place, so the last places close),
 * and the hypotheses that have finished so far. At the end it returns the
 * best of these, `{ node, tokens, logP, score }`, with all steps. A node that
 * has been continued has `candidates`, the tokens most likely to come next.
 *
 * @param {Model} model
 * @param {Encoded} source
 * @param {{width: number, alpha: number, noRepeat: number, limit: number}}
 *   options limit is the most tokens of an output, its end included
 */
function* beamSearch(model, source, { width, alpha, noRepeat, limit }) {
  const finished = [];
  /** @type {SearchStep[]} */
  const steps = [];
  let live = [{ node: new Node(BEGIN, null), logP: 0 }];
  for (;;) {
    const nodes = live.map(({ node }) => node);
    const following = model.step(nodes, source);
    const continuations = live.flatMap(({ node, logP }, row) => {
      const barred = repeating(node, noRepeat);
      const enough = Math.max(width, SHOWN) + barred.size;
      const tokens = largest(following[row], enough);
      node.candidates = tokens.map((token) => {
        const p = Math.exp(following[row][token]);
        return { token, p, barred: barred.has(token) };
      });
      const allowed = tokens.filter((token) => !barred.has(token));
      return allowed.slice(0, width).map((token) => {
        return { parent: node, token, logP: logP + following[row][token] };
      });
    });
    const best = continuations.sort((a, b) => b.logP - a.logP);
    const open = width - finished.length;
    const places = best.slice(0, width).map((chosen, rank) => {
      const node = new Node(chosen.token, chosen.parent);
      const ended = chosen.token === END || node.position >= limit;
      const state = rank >= open ? "closed" : ended ? "finished" : "live";
      return { node, logP: chosen.logP, state };
    });
    for (const { node, logP, state } of places) {
      if (state !== "finished") continue;
      const tokens = node.way.slice(1).map(({ token }) => token);
      const score = logP / lengthPenalty(tokens.length, alpha);
      if (tokens.at(-1) === END) tokens.pop();
      finished.push({ node, tokens, logP, score });
    }
    const step = { places, finished: [...finished] };
    steps.push(step);
    yield step;
    live = places.filter(({ state }) => state === "live");
    const [first] = [...finished].sort((a, b) => b.score - a.score);
    if (live.length === 0) return { ...first, steps };
    // A live hypothesis can only lose probability; the most it can gain is
    // the penalty of the longest output allowed.
    const bound = live[0].logP / lengthPenalty(limit, alpha);
    if (first && bound <= first.score) return { ...first, steps };
  }
}

export class Translator {
  /** @param {PackedTranslator} packed */
  constructor(packed) {
    this.model = new Model(packed);
    this.tokenizer = new Tokenizer(packed.vocabulary);
    this.reader = new Reader(this.tokenizer, packed.reading);
    this.beam = packed.search.beam;
    this.alpha = packed.search.alpha;
    this.noRepeat = packed.search.no_repeat;
    this.stretch = packed.search.stretch;
  }

  /**
   * Translate a line, sentence by sentence: it hands out every step of their
   * searches. At the end it returns the line's parts, what was found for
   * those that have something to read, and the translation.
   * @param {string} line
   * @param {{width?: number, alpha?: number, noRepeat?: number}} options
   */
  *translate(
    line,
    { width = this.beam, alpha = this.alpha, noRepeat = this.noRepeat } = {},
  ) {
    const parts = this.reader.line(line);
    const runs = [];
    const texts = [];
    for (const part of parts) {
      if (part.blank) {
        texts.push(stripped(part.before));
        continue;
      }
      const { sentence, ids } = part;
      const source = this.model.encode(ids);
      const stretched = ids.length * Math.round(100 * this.stretch);
      const limit = Math.floor(stretched / 100) + 50;
      const options = { width, alpha, noRepeat, limit };
      const best = yield* beamSearch(this.model, source, options);
      const read = [...this.tokenizer.split(sentence), "</s>"];
      runs.push({ read, maps: source.maps, best });
      const written = this.tokenizer.decode(best.tokens);
      const pieces = best.tokens.map((id) => this.tokenizer.pieces[id]);
      const pair = [read.slice(0, -1), pieces];
      texts.push(part.whole(emphasised(written, part, pair, best.node.way)));
    }
    const text = texts.reduce((all, one) => stripped(`${all} ${one}`));
    return { parts, runs, text };
  }
}
