/**
 * Writing, as in chapter 18: a language model reads a text and says how likely
 * each token is to come next.
 */

import { stripped } from "./casing.js";
import { Model, Node } from "./model.js";
import { END, Tokenizer } from "./tokenizer.js";

export class Writer {
  /** @param {PackedWriter} packed */
  constructor(packed) {
    this.model = new Model(packed);
    this.tokenizer = new Tokenizer(packed.vocabulary);
    this.context = packed.config.context;
    this.mark = packed.mark;
    /** @type {number[]} */
    this.tokens = [];
    /** @type {TokenNode | null} */
    this.node = null;
    /** @type {[token: number, logP: number][]} */
    this.ranked = [];
  }

  /** Begin a text. */
  begin(text) {
    this.tokens = [];
    this.node = null;
    this.read(this.ids(text));
  }

  /**
   * The ids of a text, as DocumentReader in annotated_transformer/text has
   * them: a line that is the mark ends a document.
   * @param {string} text
   * @returns {number[]}
   */
  ids(text) {
    const lines = text
      .replace(/^\ufeff/, "")
      .split("\n")
      .map((line) => line.replace(/\r$/, ""));
    const last = lines.pop() ?? "";
    const ids = lines.map((line) =>
      stripped(line) === this.mark ? [END] : this.tokenizer.encode(`${line}\n`),
    );
    return [END, ...ids.flat(), ...this.tokenizer.encode(last)];
  }

  /**
   * Read on. Where the text outgrows the context, its last half is read
   * again. The log-probabilities of the next token are then in `ranked`,
   * pairs of a token and its own, the likeliest first.
   * @param {number[]} tokens
   */
  read(tokens) {
    this.tokens.push(...tokens);
    const before = this.node ? this.node.way.length : 0;
    if (before + tokens.length > this.context) {
      this.node = null;
      tokens = this.tokens.slice(-Math.floor(this.context / 2));
    }
    const nodes = tokens.map((id) => (this.node = new Node(id, this.node)));
    const [following] = this.model.step(nodes).slice(-1);
    this.ranked = [...following.entries()].sort((a, b) => b[1] - a[1]);
  }

  /** The text of a token after another text; a mark gets its own line. */
  text(token, before) {
    if (token !== END) return this.tokenizer.decode([token]);
    return `${/[^\n]$/.test(before) ? "\n" : ""}${this.mark}\n`;
  }
}
