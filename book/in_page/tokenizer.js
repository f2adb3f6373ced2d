/**
 * Subwords, as in chapter 6: byte-pair encoding as sentencepiece applies it.
 * Single characters are a vocabulary in which no two make a piece.
 *
 * First the tokenizer's own rules make the text uniform, and it is cut into
 * single characters, every space as the sign ▁. Then the two neighbours whose
 * union is the piece with the highest score become one, again and again, until
 * no two neighbours make a piece. The scores are minus the order in which
 * training found the pieces.
 */

export const BEGIN = 1; // of an output
export const END = 2; // of a sentence, and of a document
const SPACE = "▁";
const RESERVED = 4; // padding, begin, end, unknown: no text makes them
const UNKNOWN = 3;

export class Tokenizer {
  /**
   * @param {Vocabulary} vocabulary pieces and scores by id, what stands for
   *   what, and whether a blank is put before a text
   */
  constructor({ pieces, scores, rules, prefix }) {
    this.prefix = prefix ? SPACE : "";
    this.pieces = pieces;
    this.rules = new Map(rules);
    this.longest = Math.max(0, ...rules.map(([from]) => [...from].length));
    this.ids = new Map();
    for (let id = RESERVED; id < pieces.length; id++)
      this.ids.set(pieces[id], id);
    this.scores = scores;
    this.unknown = UNKNOWN;
  }

  /**
   * The text by the rules, the longest that fits at each place, and with
   * single blanks; a tokenizer without rules leaves it as it is.
   * @param {string} text
   * @returns {string}
   */
  normalize(text) {
    if (!this.rules.size) return text;
    const characters = [...text];
    let found = "";
    for (let i = 0; i < characters.length;) {
      let length = this.longest;
      let from = characters.slice(i, i + length).join("");
      while (length > 1 && !this.rules.has(from))
        from = characters.slice(i, i + --length).join("");
      found += this.rules.get(from) ?? from;
      i += length;
    }
    return found.replace(/ +/g, " ").replace(/^ | $/g, "");
  }

  /**
   * The pieces of a text, from left to right.
   * @param {string} text
   * @returns {string[]}
   */
  split(text) {
    const half = /\p{Surrogate}/gu; // half a character
    const whole = this.normalize(text.replace(half, "?"));
    if (!whole) return [];
    const parts = [...(this.prefix + whole).replaceAll(" ", SPACE)];
    for (;;) {
      let best = -1;
      let highest = -Infinity;
      for (let i = 0; i + 1 < parts.length; i++) {
        const id = this.ids.get(parts[i] + parts[i + 1]);
        if (id !== undefined && this.scores[id] > highest)
          [best, highest] = [i, this.scores[id]];
      }
      if (best < 0) return this.joinUnknown(parts);
      parts.splice(best, 2, parts[best] + parts[best + 1]);
    }
  }

  /** Characters without a piece, side by side, are one unknown. */
  joinUnknown(parts) {
    const joined = [];
    let before = true;
    for (const part of parts) {
      const known = this.ids.has(part);
      if (known || before) joined.push(part);
      else joined[joined.length - 1] += part;
      before = known;
    }
    return joined;
  }

  /**
   * The ids of a text's pieces; the end of the sentence is not among them.
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    return this.split(text).map((part) => this.ids.get(part) ?? UNKNOWN);
  }

  /**
   * The text of some ids; a blank put before it does not belong to it.
   * @param {number[]} ids
   * @returns {string}
   */
  decode(ids) {
    let text = "";
    for (const id of ids) {
      let piece = this.pieces[id];
      if (id === UNKNOWN) piece = "⁇";
      else if (id < RESERVED) piece = "";
      else if (!text && piece.startsWith(this.prefix))
        piece = piece.slice(this.prefix.length);
      text += piece.replaceAll(SPACE, " ");
    }
    return text;
  }
}
