/** Arithmetic of the model that reads, of the one that learns, and of views. */

/** log(sum(exp(x))), with the largest x taken off first. */
export function logSumExp(x) {
  let largest = -Infinity;
  for (let i = 0; i < x.length; i++) if (x[i] > largest) largest = x[i];
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - largest);
  return largest + Math.log(sum);
}

/** softmax(x). */
export function softmax(x) {
  const shift = logSumExp(x);
  return x.map((v) => Math.exp(v - shift));
}

/** The mean of a slice of x, and one over its deviation: layer norm's. */
export function moments(x, begin, end) {
  let [mean, variance] = [0, 0];
  const n = end - begin;
  for (let i = begin; i < end; i++) mean += x[i] / n;
  for (let i = begin; i < end; i++) variance += (x[i] - mean) ** 2 / n;
  return [mean, 1 / Math.sqrt(variance + 1e-5)];
}

/** The angle of component i at a position; pairs share one (chapter 3). */
export const angle = (position, i, width) =>
  position / 10000 ** ((i - (i % 2)) / width);

/** Sines and cosines, by turns: what is added to a token's vector. */
export const wave = (position, i, width) =>
  (i % 2 ? Math.cos : Math.sin)(angle(position, i, width));

/** The places of the `count` largest numbers, largest first. */
export function largest(numbers, count = 1) {
  const places = [];
  let least = -Infinity; // what a number must exceed to be among them
  for (let i = 0; i < numbers.length; i++) {
    if (numbers[i] <= least) continue;
    let j = places.length;
    while (j > 0 && numbers[places[j - 1]] < numbers[i]) j--;
    places.splice(j, 0, i);
    if (places.length > count) places.pop();
    if (places.length === count) least = numbers[places[count - 1]];
  }
  return places;
}

/**
 * Random number i of a seed, from 0 to 1 (mulberry32). It depends on nothing
 * else, so that a text can be had again.
 */
export function uniform(seed, i) {
  let x = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  x = Math.imul(x ^ (x >>> 15), x | 1);
  x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
  return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
}
