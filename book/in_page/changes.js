/**
 * Changes to a model: each touches activations by their names and returns
 * others. `apply(values, places, other)` gets what passes, the places it
 * belongs to, and what another sentence had there, if the change has a donor;
 * else what a norm was given, or what a sub-layer has written that is added.
 */

const replaced = (x, begin, part) => {
  const y = x.slice();
  y.set(part, begin);
  return y;
};

/** A head's numbers in what goes into W^O: where they begin, how many. */
const partOf = (x, head, heads) => {
  const width = x.length / heads;
  return [head * width, (head + 1) * width];
};

/** A head brings zeros. The name is that of an attention. */
export const silence = (name, head, heads) => ({
  id: `silence ${name} ${head}`,
  touches: (touched) => touched === `${name}.heads`,
  apply: (values) =>
    values.map((x) => {
      const [begin, end] = partOf(x, head, heads);
      return x.slice().fill(0, begin, end);
    }),
});

/** A head brings what it brings in another sentence, row by row. */
export const patch = (name, head, heads, donor) => ({
  id: `patch ${name} ${head}`,
  donor,
  touches: (touched) => touched === `${name}.heads`,
  apply: (values, places, donated) =>
    values.map((x, i) => {
      const other = donated[places[i].position ?? places[i]];
      const [begin, end] = partOf(x, head, heads);
      return other ? replaced(x, begin, other.slice(begin, end)) : x;
    }),
});

/** A unit of a feed-forward network stays at zero. */
export const silenceUnit = (name, unit) => ({
  id: `unit ${name} ${unit}`,
  touches: (touched) => touched === `${name}.hidden`,
  apply: (values) => values.map((x) => replaced(x, unit, [0])),
});

/** Every position of the target sees all that is there, later ones too. */
export const maskOff = () => ({
  id: "mask",
  touches: (name) => name === "decoder.mask",
  apply: (ways) => ways.map(() => ways.at(-1)),
});

/** Nothing tells the model where a word stands. */
export const positionsOff = () => ({
  id: "positions",
  touches: (name) => name.endsWith(".positions.table"),
  apply: (waves) => waves.map((x) => x.map(() => 0)),
});

/** Scores are not divided by the root of their width. */
export const scaleOff = (width) => ({
  id: "scale",
  touches: (name) => name.endsWith(".scores"),
  apply: (values) =>
    values.map((heads) => heads.map((row) => row.map((s) => s * width ** 0.5))),
});

/** What a sub-layer writes replaces what was there. */
export const residualOff = () => ({
  id: "residual",
  touches: (name) => /\.around_\w+$/.test(name),
  apply: (_, __, written) => written,
});

/** Norms give what they are given. */
export const normOff = () => ({
  id: "norm",
  touches: (name) => name.endsWith(".norm"),
  apply: (_, __, given) => given,
});

/** The networks write zeros. */
export const feedForwardOff = () => ({
  id: "feed-forward",
  touches: (name) => name.endsWith(".feed_forward"),
  apply: (values) => values.map((x) => x.map(() => 0)),
});

/** Logits over a temperature. */
export const temperature = (degree) => ({
  id: "temperature",
  touches: (name) => name === "logits",
  apply: (logits) => logits.map((x) => x.map((logit) => logit / degree)),
});
