/**
 * The sentences of a line: annotated_transformer/text/sentences.py again. It
 * says why; a test checks that both agree.
 */

import { stripped, wordsOf } from "./casing.js";

const CLOSER = `["'”’“»«›)\\]]`;
const EMOJI = "(?:[\\u2600-\\u27bf\\u{1f000}-\\u{1faff}]|\\ufe0f|\\u200d)";
const END = new RegExp(
  "(?<![.!?…])(?<![.!?…] )" +
    `([.!?…](?: ?[.!?…])*(?: ?${CLOSER})*)(?: ?${EMOJI})* ` +
    "|(?<=[a-zß-öø-ÿ])[.!?](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])",
  "gu",
);
const OPENERS = /^["'“”„‘‚«»‹›([]+/;
const NUMBERED = ["art", "ch", "fig", "max", "min", "no", "nos", "sec", "vol"];
const ENDING = ["a.m", "etc", "ft", "lb", "oz", "p.m", "usf", "usw"];
const SHORT =
  /^(\p{Nd}{1,2}|[\p{L}\p{N}_]|([\p{L}\p{Nl}\p{No}]{1,2}\.)+[\p{L}\p{Nl}\p{No}]{1,3})$/u;
const LETTER = /[\p{L}\p{N}]/u; // or a digit
const HALF = /\p{Surrogate}/gu; // of a character

/**
 * The sentences of a text; [text] if it is only one.
 * @param {string} text
 * @param {string | null} abbreviations of its language; null: it stays whole
 */
export function sentences(text, abbreviations) {
  const words = wordsOf(text.replace(HALF, "?"));
  if (abbreviations === null || !words.length) return [text];
  const found = cut(words.join(" "), abbreviations.split(" "));
  return found.length > 1 ? found : [text];
}

/** The sentences of a line with single blanks; each has a letter. */
function cut(line, abbreviations) {
  const found = [];
  const [read] = line.match(/^.*[\p{L}\p{N}]/su) ?? [""]; // to the last one
  let start = 0;
  for (const { index, 0: match, 1: mark = match } of read.matchAll(END)) {
    const head = line.slice(start, index);
    const end = index + match.length;
    const after = String.fromCodePoint(line.codePointAt(end));
    const word = [...head.split(" ").at(-1)].slice(-20).join("");
    const stays =
      (mark === "." && abbreviated(word, after, abbreviations)) ||
      (![".", "!", "?"].includes(mark) && /\p{Lowercase}/u.test(after));
    if (stays || !LETTER.test(head)) continue;
    found.push(stripped(line.slice(start, end)));
    start = end;
  }
  return [...found, line.slice(start)];
}

/** Whether the full stop behind a word does not end its sentence. */
function abbreviated(given, after, known) {
  const word = given.replace(OPENERS, "");
  const small = word.toLowerCase();
  if (ENDING.includes(small) && /\p{Uppercase}/u.test(after)) return false;
  const numbered = NUMBERED.includes(small) && /\p{Nd}/u.test(after);
  return numbered || known.includes(small) || SHORT.test(word);
}
