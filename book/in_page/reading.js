/**
 * How a translator reads a line: annotated_transformer/text/reading.py again.
 * It says why; a test checks that both agree.
 */

import {
  asGiven,
  asSentence,
  bySmallLetters,
  loweredWords,
  singleBlanks,
  stripped,
  wordsOf,
} from "./casing.js";
import { sentences } from "./sentences.js";
import { END } from "./tokenizer.js";

const LETTER = /[\p{L}\p{N}]/u; // or a digit
const INVISIBLE = /[\p{Cc}\p{Cf}\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
const AROUND = '"#*•·‣†‡§';
const PLAIN = /^[\p{L}\p{Nl}\p{No}](.*[\p{L}\p{N}])?[.!?]?$/su;
const NUMBER = /^\p{Nd}+$/u;
const ADDRESS = /[\p{L}\p{N}_]@[\p{L}\p{N}_]|:\/\/|(?<![\p{L}\p{N}_])www\./u;
const BRACKETS = ["()", "[]", "{}", "«»", "“”"];
const TAG = /<\/?[\p{L}\p{N}_][^<>]*>/gu;
const FIRST_TAG = new RegExp(`^${TAG.source}`, "u");
const LAST_TAG = new RegExp(`${TAG.source}$`, "u");

export class Reader {
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

  /**
   * A text as it is read at once, and what goes through around it. Unknown
   * are all of its signs without a subword, wherever they are.
   */
  part(text) {
    const { tokenizer } = this;
    let [before, inner, behind, unknown] = ["", text, "", ""];
    const plain = PLAIN.test(text) && !ADDRESS.test(text);
    const known = this.knows(text);
    if (!plain || !known) {
      [before, inner, behind] = this.readable(singleBlanks(text));
      inner = inner.replace(TAG, "");
      for (const sign of new Set(inner))
        if (!LETTER.test(sign) && !this.knows(sign))
          inner = inner.replaceAll(sign, "");
      const signs = [...new Set(visible(text))];
      if (!known) unknown = signs.filter((x) => !this.knows(x)).join("");
      if (!visible(before)) before = "";
      if (!visible(behind)) behind = "";
    }
    const [sentence, setting] = asSentence(inner, tokenizer, this.words);
    const ids = [...tokenizer.encode(sentence), END];
    const blank = !stripped(sentence) || ids.length === 1;
    const loud = setting === asGiven ? loweredWords(inner, sentence) : [];
    const whole = (written) => {
      const set = setting(written);
      const cut = behind && !sentence.endsWith(".");
      return before + (cut ? set.replace(/\.$/, "") : set) + behind;
    };
    const around = { before, behind, unknown, loud, whole };
    return { text, sentence, ids, blank, ...around };
  }

  /** Whether a text has no character without a subword. */
  knows(text) {
    return !this.tokenizer.encode(text).includes(this.tokenizer.unknown);
  }

  /** Whether a letter of a word is in one of its subwords. */
  knowsSome(word) {
    const { ids } = this.tokenizer;
    const known = (piece) => ids.has(piece) && /\p{L}/u.test(piece);
    return this.tokenizer.split(word).some(known);
  }

  /**
   * What is read of a text, and what goes through around it.
   * @returns {[before: string, inner: string, behind: string]}
   */
  readable(text) {
    const words = wordsOf(text);
    const read = (x) => !ADDRESS.test(x[0]) && this.knowsSome(x[0]);
    let [first, last] = [words.findIndex(read), words.findLastIndex(read)];
    if (first < 0) return [text, "", ""];
    while (first > 0 && NUMBER.test(words[first - 1][0])) first--;
    const closes = (x) => [...x[0]].every((sign) => this.closes(sign));
    while (last + 1 < words.length && closes(words[last + 1])) last++;
    const begin = words[first].index;
    const end = words[last].index + words[last][0].length;
    let [before, inner] = between(text, begin, end, (x) => this.around(x));
    const count = (sign) => inner.split(sign).length - 1;
    const torn = BRACKETS.some(([x, y]) => count(x) !== count(y));
    if (torn || count('"') % 2) {
      const foreign = (x) => this.foreign(x);
      [before, inner] = between(text, begin, end, foreign);
    }
    return [before, inner, text.slice(before.length + inner.length)];
  }

  /** Whether a sign is a digit, or a mark that belongs to a sentence. */
  closes(sign) {
    const letter = LETTER.test(sign) && !/\p{Nd}/u.test(sign);
    return !letter && !this.around(sign);
  }

  /** Whether a sign goes through at the ends of a sentence. */
  around(sign) {
    if (this.foreign(sign)) return true;
    const part = /[\p{L}\p{N}\p{M}]/u.test(sign);
    return !part && !(/\p{Po}/u.test(sign) && !AROUND.includes(sign));
  }

  /** Whether a sign has no subword, and is none of a letter's marks. */
  foreign(sign) {
    const mark = /\p{M}/u.test(sign) && !INVISIBLE.test(sign);
    return !(LETTER.test(sign) || mark || this.knows(sign));
  }
}

/** What of a text stands before what is read of it, and what is read. */
function between(text, begin, end, goes) {
  let [start, read] = [begin, text.slice(begin, end)];
  for (;;) {
    const [sign = ""] = read;
    if (!sign || !goes(sign)) break;
    const [passed] = read.match(FIRST_TAG) ?? [sign];
    start += passed.length;
    read = read.slice(passed.length);
  }
  for (;;) {
    const sign = [...read].at(-1) ?? "";
    if (!sign || !goes(sign)) break;
    const [passed] = read.match(LAST_TAG) ?? [sign];
    read = read.slice(0, -passed.length);
  }
  return [text.slice(0, start), read];
}

/** What can be seen of a text. */
const visible = (text) =>
  [...singleBlanks(text)]
    .filter((x) => x !== " " && !INVISIBLE.test(x))
    .join("");
