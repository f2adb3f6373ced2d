/**
 * A translator that can be looked into and changed: what it writes for a
 * sentence, and every activation at the moment when it wrote a token.
 */

import { largest, softmax } from "./arithmetic.js";
import { Model, Node } from "./model.js";
import { Reader } from "./reading.js";
import { BEGIN, END, Tokenizer } from "./tokenizer.js";

// Tokens that an output may have more than its source. Chapter 5 allows 50,
// which a model without one of its parts would fill with the same word.
const MORE = 14;

/**
 * Tokens as nodes that follow each other.
 * @param {number[]} tokens
 */
function chainOf(tokens) {
  /** @type {TokenNode | null} */
  let last = null;
  return tokens.map((token) => (last = new Node(token, last)));
}

/**
 * A tap that keeps what passes: by name, an array over the places.
 * @param {Activations} seen
 * @param {Tap} tap
 * @returns {Tap}
 */
function recorder(seen, tap = (_, values) => values) {
  return (name, values, places, given) => {
    const found = tap(name, values, places, given);
    const row = (seen[name] ??= []);
    places.forEach((place, i) => {
      row[place.position ?? place] =
        name === "logits" ? found[i].slice() : found[i];
    });
    return found;
  };
}

export class Machine {
  /** @param {PackedOpened} packed */
  constructor(packed) {
    this.model = new Model(packed);
    this.tokenizer = new Tokenizer(packed.vocabulary);
    this.reader = new Reader(this.tokenizer, packed.reading);
  }

  /** A text as the model reads it, its first sentence: pieces and ids. */
  read(text) {
    const parts = this.reader.line(text);
    const { sentence, ids } = parts.find(({ blank }) => !blank) ?? parts[0];
    return { pieces: [...this.tokenizer.split(sentence), "</s>"], ids };
  }

  /**
   * Translate greedily, as chapter 5 does, under changes (see changes.js).
   *
   * Donors, other sentences whose activations a change puts in, are run
   * beside it, with the same tokens of the target. Without the mask, earlier
   * positions depend on later ones, so that everything is read again at
   * every step.
   */
  run(text, changes = []) {
    const { pieces, ids } = this.read(text);
    const sources = this.begin(ids, changes);
    const again = changes.some(({ touches }) => touches("decoder.mask"));
    const tokens = [BEGIN];
    let nodes = chainOf(tokens);
    while (tokens.length <= ids.length + MORE && tokens.at(-1) !== END) {
      const news = again ? chainOf(tokens) : [nodes.at(-1)];
      const rows = this.step(news, sources);
      const [token] = largest(rows.at(-1));
      tokens.push(token);
      nodes = [...nodes, new Node(token, nodes[nodes.length - 1])];
    }
    const target = tokens.slice(1).map((id) => this.tokenizer.pieces[id]);
    const cut = tokens.at(-1) === END ? "" : " …";
    const written = this.tokenizer.decode(tokens.slice(1)) + cut;
    return { text, changes, ids, pieces, tokens, target, written };
  }

  /**
   * Read a source, and the donors of the changes.
   * @param {number[]} ids
   * @param {Pick<Change, "touches" | "apply" | "donor">[]} changes
   * @param {Activations} seen
   */
  begin(ids, changes, seen = {}) {
    const donors = new Map();
    for (const { donor } of changes)
      if (donor && !donors.has(donor)) {
        const found = {};
        const read = this.read(donor);
        const source = this.model.encode(read.ids, recorder(found));
        donors.set(donor, { source, seen: found, shadows: new Map() });
      }
    const tap = (name, values, places, given) =>
      changes
        .filter(({ touches }) => touches(name))
        .reduce(
          (found, { apply, donor }) =>
            apply(found, places, donors.get(donor)?.seen[name] ?? given),
          values,
        );
    const source = this.model.encode(ids, recorder(seen, tap));
    return { source, donors: [...donors.values()] };
  }

  /** One step of the donors, and then of the sentence itself. */
  step(nodes, { source, donors }) {
    for (const donor of donors) {
      const { shadows } = donor;
      const twins = nodes.map((node) => {
        const parent = shadows.get(node.way.at(-2)) ?? null;
        const twin = new Node(node.token, parent);
        shadows.set(node, twin);
        return twin;
      });
      this.model.step(twins, donor.source);
    }
    return this.model.step(nodes, source);
  }

  /**
   * Every activation when a token was written, by name and place.
   * @param {Run} run
   * @param {number} moment how many tokens were written before it
   */
  look({ ids, tokens, changes }, moment) {
    const seen = {};
    const sources = this.begin(ids, changes, seen);
    const nodes = chainOf(tokens.slice(0, moment + 1));
    this.step(nodes, sources);
    const logits = seen.logits[moment];
    const chances = softmax(logits);
    const order = [...chances.keys()].sort((a, b) => logits[b] - logits[a]);
    const ranked = order.slice(0, 6).map((token) => ({
      token,
      piece: this.tokenizer.pieces[token],
      logit: logits[token],
      p: chances[token],
    }));
    return { seen, chances, ranked };
  }

  /**
   * What a word's vector has taken from each word of the source: how far it
   * moves, as a share of its length, if that word's embedding is zero. One
   * row for each encoder layer.
   */
  mixed({ ids, changes }, place) {
    const names = this.model.encoder.map(
      (_, l) => `encoder.layers.${l}.around_feed_forward`,
    );
    const vectors = (silent) => {
      const seen = {};
      const touches = (name) => name === "source";
      const apply = (values) =>
        values.map((x, i) => (i === silent ? x.map(() => 0) : x));
      this.begin(ids, [...changes, { touches, apply }], seen);
      return names.map((name) => seen[name][place]);
    };
    const norm = (x) => Math.hypot(...x);
    const whole = vectors(-1);
    const rows = ids.map((_, silent) => {
      const others = vectors(silent);
      return whole.map(
        (x, l) => norm(x.map((v, i) => v - others[l][i])) / norm(x),
      );
    });
    return names.map((_, l) => rows.map((row) => row[l]));
  }
}
