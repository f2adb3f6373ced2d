/**
 * Subwords, as in chapter 6: byte-pair encoding as sentencepiece applies it.
 *
 * A text begins as single characters, and every space as the sign ▁. Then the
 * two neighbours whose union is the piece with the highest score become one,
 * again and again, until no two neighbours make a piece. The scores are minus
 * the order in which training found the pieces.
 */
(() => {
  const SPACE = "▁";
  const RESERVED = 4; // padding, begin, end, unknown: no text makes them
  const UNKNOWN = 3;

  class Tokenizer {
    /** @param {{pieces: string[], scores: number[]}} vocabulary by id */
    constructor({ pieces, scores }) {
      this.pieces = pieces;
      this.ids = new Map();
      for (let id = RESERVED; id < pieces.length; id++)
        this.ids.set(pieces[id], id);
      this.scores = scores;
    }

    /**
     * The pieces of a text, from left to right.
     * @param {string} text
     * @returns {string[]}
     */
    split(text) {
      if (!text) return [];
      const whole = text.replace(/\p{Surrogate}/gu, "?"); // half a character
      const parts = [...(SPACE + whole).replaceAll(" ", SPACE)];
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
     * The text of some ids: the first space belongs to no word.
     * @param {number[]} ids
     * @returns {string}
     */
    decode(ids) {
      let text = "";
      for (const id of ids) {
        let piece = this.pieces[id];
        if (id === UNKNOWN) piece = " ⁇ ";
        else if (id < RESERVED) piece = "";
        else if (!text && piece.startsWith(SPACE)) piece = piece.slice(1);
        text += piece.replaceAll(SPACE, " ");
      }
      return text;
    }
  }

  Object.assign((globalThis.translatorInPage ??= {}), {
    Tokenizer,
  });
})();
