/**
 * Words in capitals or with one, read as a sentence has them, and the
 * translation set like them: annotated_transformer/text/casing.py again. It
 * says why; a test checks that both agree.
 */

// What Python takes for a blank, and for a letter, a digit or an underscore.
const BLANK =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a" +
  "\\u2028\\u2029\\u202f\\u205f\\u3000";
const LETTER = "\\p{L}\\p{N}_";
const BEGINNING = new RegExp(`(?<![^${BLANK}])[^${LETTER}]*[${LETTER}]`, "gu");
const BETWEEN = new RegExp(`[^${BLANK}]+`, "gu"); // blanks
const ENDS = new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "gu");
const CORE = `[${LETTER}](?:[^${BLANK}]*[${LETTER}])?`; // without marks
const WORD = new RegExp(CORE, "u");
const WORDS = new RegExp(CORE, "gu");
const FIRST = new RegExp(`[${LETTER}]`, "u");

const large = (text) => text.toUpperCase();
export const inCapitals = (text) => large(text.replaceAll("ß", "ẞ"));
const inTitleCase = (text) => text.replace(BEGINNING, large);
export const asGiven = (text) => text;

/** The words of a text, as blanks divide it, and their places. */
export const wordsOf = (text) => [...text.matchAll(BETWEEN)];
export const eachWord = (text, change) => text.replace(BETWEEN, change);
/** The text without blanks at its ends. */
export const stripped = (text) => text.replace(ENDS, "");
export const singleBlanks = (text) =>
  text.replace(new RegExp(`[${BLANK}]+`, "gu"), " ");

/**
 * The forms of words, which are given with blanks between them, by word.
 * @param {string} used
 * @returns {Words}
 */
export function bySmallLetters(used) {
  const found = new Map();
  for (const [form] of wordsOf(used)) {
    const forms = found.get(form.toLowerCase());
    if (forms) forms.push(form);
    else found.set(form.toLowerCase(), [form]);
  }
  return found;
}

/**
 * The text as a sentence has it, and what sets a translation like it.
 * @param {string} text
 * @param {Tokenizer} tokenizer
 * @param {Words} words
 * @returns {[string, (text: string) => string]}
 */
export function asSentence(text, tokenizer, words) {
  const small = text.toLowerCase();
  if (small === large(text)) return [text, asGiven];
  const settings = [
    [small, asGiven],
    [large(text), inCapitals],
    [inTitleCase(text), inTitleCase],
  ];
  const [, setting] = settings.find(([like]) => like === text) ?? [];
  if (!setting) return [lowered(text, words), asGiven];
  const several = wordsOf(text).length > 1;
  let sentence = eachWord(text, (word) => usual(word, tokenizer, words));
  if (several) sentence = sentence.replace(FIRST, large);
  else if (inUse(text, words)) return [sentence, setting];
  const most = rarity(text, tokenizer) - (text === small ? 0 : 1);
  const fitting = [...wordsOf(text).join(" ")].length / 2;
  const fits = rarity(sentence, tokenizer) <= Math.min(most, fitting);
  return fits ? [sentence, setting] : [text, asGiven];
}

/** The text with its words in capitals as they are in use. */
function lowered(text, words) {
  const known = new Map();
  for (const word of text.match(WORDS) ?? []) {
    const form = inUse(word, words);
    if ([...word].length > 1 && form && word === large(word) && form !== word)
      known.set(word, form);
  }
  const [alone] = known.size === 1 ? known.keys() : [];
  if (alone && [...alone].length < 4) return text;
  return text.replace(WORDS, (word) => known.get(word) ?? word);
}

/** The numbers of a text's words in capitals that the sentence has not. */
export function loweredWords(text, sentence) {
  const [given, read] = [text, sentence].map((x) => wordsOf(x));
  return [...given.keys()].filter((i) => {
    const [[word], [form]] = [given[i], read[i]];
    return word === large(word) && word !== form;
  });
}

/** The text's word in a form that is in use, if there is any; else "". */
function inUse(text, words) {
  const [core] = text.match(WORD) ?? [""];
  const small = core.toLowerCase();
  const forms = words.get(small) ?? words.get(small.replaceAll("ss", "ß"));
  return forms?.includes(core) ? core : (forms?.[0] ?? "");
}

/** The number of the text's subwords; an unknown one counts twice. */
function rarity(text, tokenizer) {
  const ids = tokenizer.encode(text);
  return ids.length + ids.filter((id) => id === tokenizer.unknown).length;
}

/** The word in a form that is in use, or with the fewest subwords. */
function usual(word, tokenizer, words) {
  const form = inUse(word, words);
  if (form) return word.replace(WORD, () => form);
  const lower = word.toLowerCase();
  const small = [lower, lower.replaceAll("ss", "ß")];
  const ways = [...small, ...small.map(inTitleCase), word];
  const counts = ways.map((way) => rarity(way, tokenizer));
  return ways[counts.indexOf(Math.min(...counts))];
}
