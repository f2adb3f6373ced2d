/**
 * How a translator reads a line: annotated_transformer/text/reading.py again.
 * It says why; a test checks that both agree.
 */
(() => {
  const { asSentence, bySmallLetters } = globalThis.inPage;
  const { sentences, stripped, wordsOf } = globalThis.inPage;
  const END = 2;
  const LETTER = /[\p{L}\p{N}]/u; // or a digit
  const INVISIBLE = /[\p{Cc}\p{Cf}\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;

  class Reader {
    /**
     * @param {Tokenizer} tokenizer
     * @param {PackedReading} reading the abbreviations of the language if the
     *   model takes sentences one by one, and its words in the forms in use
     */
    constructor(tokenizer, { abbreviations, words }) {
      this.tokenizer = tokenizer;
      this.abbreviations = abbreviations;
      this.words = bySmallLetters(words);
    }

    /**
     * The parts of a line, which are read one by one.
     * @param {string} text
     * @returns {Part[]}
     */
    line(text) {
      return sentences(text, this.abbreviations).map((x) => this.part(x));
    }

    /** A text as it is read at once, and what goes through around it. */
    part(text) {
      const { tokenizer } = this;
      let [before, inner, behind, unknown] = ["", text, "", ""];
      if (!this.knows(text) || !LETTER.test(text)) {
        [before, inner, behind] = this.readable(text);
        for (const sign of new Set(inner))
          if (!LETTER.test(sign) && !this.knows(sign))
            inner = inner.replaceAll(sign, "");
        const seen = [...new Set(text)].filter((x) => !INVISIBLE.test(x));
        unknown = seen.filter((x) => !this.knows(x)).join("");
        if (!stripped(seen.join(""))) before = "";
      }
      const [sentence, setting] = asSentence(inner, tokenizer, this.words);
      const ids = [...tokenizer.encode(sentence), END];
      const blank = !stripped(sentence) || ids.length === 1;
      const whole = (written) => before + setting(written) + behind;
      return { text, sentence, ids, blank, before, behind, unknown, whole };
    }

    /** Whether a text has no character without a subword. */
    knows(text) {
      return !this.tokenizer.encode(text).includes(this.tokenizer.unknown);
    }

    /**
     * What is read of a text, and what goes through around it.
     * @returns {[before: string, inner: string, behind: string]}
     */
    readable(text) {
      const words = wordsOf(text);
      const known = (x) => [...x[0]].every((sign) => this.knows(sign));
      const read = (x) =>
        [...x[0]].some((sign) => LETTER.test(sign) && this.knows(sign));
      let [first, last] = [words.findIndex(read), words.findLastIndex(read)];
      if (first < 0) return [text, "", ""];
      while (first > 0 && known(words[first - 1])) first--;
      while (last + 1 < words.length && known(words[last + 1])) last++;
      const [begin, end] = [words[first].index, words[last].index];
      const signs = [...text.slice(begin, end + words[last][0].length)];
      const open = signs.findIndex((x) => !this.foreign(x));
      const close = signs.findLastIndex((x) => !this.foreign(x)) + 1;
      const inner = signs.slice(open, close).join("");
      const before = text.slice(0, begin) + signs.slice(0, open).join("");
      return [before, inner, text.slice(before.length + inner.length)];
    }

    /** Whether a sign has no subword, and is none of a letter's marks. */
    foreign(sign) {
      const mark = /\p{M}/u.test(sign) && !INVISIBLE.test(sign);
      return !(LETTER.test(sign) || mark || this.knows(sign));
    }
  }

  globalThis.inPage = { ...globalThis.inPage, Reader };
})();
