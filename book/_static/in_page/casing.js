/**
 * Text in capitals, In Title Case or in small letters, read as a sentence, and
 * the translation set like it: annotated_transformer/text/casing.py again. It
 * says why; a test checks that both agree.
 */
(() => {
  // What Python takes for a blank, and for a letter, a digit or an underscore.
  const BLANK =
    "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a" +
    "\\u2028\\u2029\\u202f\\u205f\\u3000";
  const LETTER = "\\p{L}\\p{N}_";
  const BEGINNING = new RegExp(
    `(?<![^${BLANK}])[^${LETTER}]*[${LETTER}]`,
    "gu",
  );
  const WORD = new RegExp(`[^${BLANK}]+`, "gu");
  const FIRST = new RegExp(`[${LETTER}]`, "u");

  const large = (text) => text.toUpperCase();
  const inCapitals = (text) => large(text.replaceAll("ß", "ẞ"));
  const inTitleCase = (text) => text.replace(BEGINNING, large);
  const asGiven = (text) => text;

  /**
   * The text as a sentence has it, and what sets a translation like it.
   * @param {string} text
   * @param {Tokenizer} tokenizer
   * @returns {[string, (text: string) => string]}
   */
  function asSentence(text, tokenizer) {
    const small = text.toLowerCase();
    const settings = [
      [small, asGiven],
      [large(text), inCapitals],
      [inTitleCase(text), inTitleCase],
    ];
    const [, setting] = settings.find(([like]) => like === text) ?? [];
    if (!setting || small === large(text)) return [text, asGiven];
    const most = rarity(text, tokenizer) - (text === small ? 0 : 1);
    const sentence = text
      .replace(WORD, (word) => usual(word, tokenizer))
      .replace(FIRST, large);
    const fitting = [...(text.match(WORD) ?? []).join(" ")].length / 2;
    const fits = rarity(sentence, tokenizer) <= Math.min(most, fitting);
    return fits ? [sentence, setting] : [text, asGiven];
  }

  /** The number of the text's subwords; an unknown one counts twice. */
  function rarity(text, tokenizer) {
    const ids = tokenizer.encode(text);
    return ids.length + ids.filter((id) => id === tokenizer.unknown).length;
  }

  /** The word as it takes the fewest subwords; small letters come first. */
  function usual(word, tokenizer) {
    const lower = word.toLowerCase();
    const small = [lower, lower.replaceAll("ss", "ß")];
    const ways = [...small, ...small.map(inTitleCase), word];
    const counts = ways.map((way) => rarity(way, tokenizer));
    return ways[counts.indexOf(Math.min(...counts))];
  }

  globalThis.inPage = { ...globalThis.inPage, asSentence };
})();
