/**
 * Words of a translation in capitals where those of its source were:
 * annotated_transformer/text/emphasis.py again. It says why; a test checks
 * that both agree.
 */

import { largest } from "./arithmetic.js";
import { eachWord, inCapitals, wordsOf } from "./casing.js";

/** The word that each piece is part of; -1 for a piece of blanks alone. */
function wordsOfPieces(pieces) {
  let [word, before] = [-1, "▁"];
  return pieces.map((piece) => {
    for (const letter of piece) {
      if (before === "▁" && letter !== "▁") word++;
      before = letter;
    }
    return before === "▁" ? -1 : word;
  });
}

/**
 * How much was looked at each source word for each target word.
 * @param {ArrayLike<number>[][]} rows the weights of each target piece, by head
 * @param {string[]} source
 * @param {string[]} target
 */
function weightsOfWords(rows, source, target) {
  const [from, to] = [source, target].map(wordsOfPieces);
  const weights = target.map((_, j) =>
    source.map((_, i) => rows[j].reduce((all, head) => all + head[i], 0)),
  );
  const found = wordsIn(to).map(() => wordsIn(from).map(() => 0));
  source.forEach((_, i) => {
    const all = weights.reduce((sum, row) => sum + row[i], 0);
    target.forEach((_, j) => {
      if (from[i] >= 0 && to[j] >= 0)
        found[to[j]][from[i]] += weights[j][i] / Math.sqrt(all || 1);
    });
  });
  return found;
}

const wordsIn = (numbers) => [...Array(Math.max(...numbers) + 1)];

/**
 * @param {string} text a translation of a part
 * @param {Part} part
 * @param {string[][]} pair the pieces that were read and those written
 * @param {TokenNode[]} way the nodes that predicted the latter
 */
export function emphasised(text, { loud, sentence }, [source, target], way) {
  if (!loud.length || !wordsOf(text).length) return text;
  const rows = way.map(({ cross }) => cross.at(-2) ?? cross[0]);
  const weights = weightsOfWords(rows, source, target);
  if (
    weights.length !== wordsOf(text).length ||
    weights[0].length !== wordsOf(sentence).length
  )
    return text; // blanks that the tokenizer takes for letters
  const set = new Set();
  for (const i of loud) {
    const [j] = largest(weights.map((row) => row[i]));
    if (largest(weights[j])[0] === i) set.add(j);
  }
  let j = -1;
  return eachWord(text, (word) => (set.has(++j) ? inCapitals(word) : word));
}
