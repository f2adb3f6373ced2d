/**
 * A Transformer that learns in the page: the model of chapters 1 to 5 with its
 * gradients, Adam (chapter 8) and the loop of chapter 9, for one small task.
 *
 * It trains in a worker. A page opened as a file may start one only from text
 * that it holds itself, so this is bundled as one function, whose own text is
 * the worker's program: nothing in it refers to anything outside.
 *
 * A matrix is stored row by row, with its gradient beside it. Every operation
 * adds to a list how the gradient of its result becomes one of what it read,
 * and `backward` goes through that list from its end. Numbers are kept in
 * float32 and added up in doubles. Parameters have their names in the package.
 */

import { largest, logSumExp, moments, uniform, wave } from "./arithmetic.js";

const [PAD, BOS, EOS, FIRST] = [0, 1, 2, 4]; // FIRST: the first letter

class Matrix {
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.values = new Float32Array(rows * columns);
    this.gradient = new Float32Array(rows * columns);
  }
}

/**
 * C += A B. The next row of a factor is `down` places on and the next
 * column `along`, so that either may be read as its transpose. Four
 * columns of C (there are a multiple of four) are summed up together.
 */
function product(c, [rows, inner, columns], a, b) {
  for (let row = 0; row < rows; row++)
    for (let j = 0; j < columns; j += 4) {
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      let [at, from] = [row * a.down, j * b.along];
      for (let k = 0; k < inner; k++) {
        const u = a.values[at];
        s0 += u * b.values[from];
        s1 += u * b.values[from + b.along];
        s2 += u * b.values[from + 2 * b.along];
        s3 += u * b.values[from + 3 * b.along];
        at += a.along;
        from += b.down;
      }
      const to = row * columns + j;
      c[to] += s0;
      c[to + 1] += s1;
      c[to + 2] += s2;
      c[to + 3] += s3;
    }
}

const upright = (values, n) => ({ values, down: n, along: 1 });
const turned = (values, n) => ({ values, down: 1, along: n });

/** The operations, and how to go back through those of one pass. */
class Pass {
  constructor() {
    this.steps = [];
  }

  backward() {
    while (this.steps.length) this.steps.pop()();
  }

  /** Each token's row of a table, times a factor, plus its position's. */
  embed(table, tokens, factor, positions) {
    const n = table.columns;
    const y = new Matrix(tokens.length, n);
    tokens.forEach((token, row) => {
      const place = (row * n) % positions.length;
      for (let j = 0; j < n; j++)
        y.values[row * n + j] =
          factor * table.values[token * n + j] + positions[place + j];
    });
    this.steps.push(() =>
      tokens.forEach((token, row) => {
        for (let j = 0; j < n; j++)
          table.gradient[token * n + j] += factor * y.gradient[row * n + j];
      }),
    );
    return y;
  }

  /**
   * x W^T + b.
   * @param {Matrix} x
   * @param {{weight: Matrix, bias?: Matrix}} layer
   */
  linear(x, { weight, bias }) {
    const [rows, inner, n] = [x.rows, x.columns, weight.rows];
    const y = new Matrix(rows, n);
    for (let row = 0; bias && row < rows; row++)
      y.values.set(bias.values, row * n);
    const [w, read] = [weight.values, upright(x.values, inner)];
    product(y.values, [rows, inner, n], read, turned(w, inner));
    this.steps.push(() => {
      const g = y.gradient;
      const given = upright(g, n);
      product(x.gradient, [rows, n, inner], given, upright(w, inner));
      product(weight.gradient, [n, rows, inner], turned(g, n), read);
      for (let i = 0; bias && i < g.length; i++) bias.gradient[i % n] += g[i];
    });
    return y;
  }

  relu(x) {
    const y = new Matrix(x.rows, x.columns);
    for (let i = 0; i < y.values.length; i++)
      y.values[i] = Math.max(0, x.values[i]);
    this.steps.push(() => {
      for (let i = 0; i < y.values.length; i++)
        if (y.values[i] > 0) x.gradient[i] += y.gradient[i];
    });
    return y;
  }

  add(x, y) {
    const z = new Matrix(x.rows, x.columns);
    for (let i = 0; i < z.values.length; i++)
      z.values[i] = x.values[i] + y.values[i];
    this.steps.push(() => {
      for (let i = 0; i < z.values.length; i++) {
        x.gradient[i] += z.gradient[i];
        y.gradient[i] += z.gradient[i];
      }
    });
    return z;
  }

  /** Each row minus its mean, over its deviation; scaled and shifted. */
  norm(x, { weight, bias }) {
    const { rows, columns: n } = x;
    const y = new Matrix(rows, n);
    const normal = new Float32Array(rows * n);
    const over = new Float32Array(rows); // 1 / deviation
    for (let row = 0; row < rows; row++) {
      const begin = row * n;
      const [mean, scale] = moments(x.values, begin, begin + n);
      over[row] = scale;
      for (let j = 0; j < n; j++) {
        const value = (x.values[begin + j] - mean) * scale;
        normal[begin + j] = value;
        y.values[begin + j] = value * weight.values[j] + bias.values[j];
      }
    }
    this.steps.push(() => {
      for (let row = 0; row < rows; row++) {
        const begin = row * n;
        let [mean, along] = [0, 0];
        for (let j = 0; j < n; j++) {
          const g = y.gradient[begin + j];
          weight.gradient[j] += g * normal[begin + j];
          bias.gradient[j] += g;
          mean += (g * weight.values[j]) / n;
          along += (g * weight.values[j] * normal[begin + j]) / n;
        }
        for (let j = 0; j < n; j++) {
          const g = y.gradient[begin + j] * weight.values[j];
          x.gradient[begin + j] +=
            over[row] * (g - mean - along * normal[begin + j]);
        }
      }
    });
    return y;
  }

  /**
   * softmax(Q K^T / sqrt(d_k)) V in every head of every string. Keys and
   * values lie side by side in the memory.
   * @param {(row: number, i: number, j: number) => boolean} sees the mask:
   *   whether query i of a string may look at key j
   */
  attention(query, memory, heads, batch, sees) {
    const { values: q, columns: d } = query;
    const kv = memory.values;
    const width = d / heads;
    const [queries, keys] = [query.rows / batch, memory.rows / batch];
    const y = new Matrix(query.rows, d);
    const weights = new Float32Array(query.rows * heads * keys);
    const scale = 1 / Math.sqrt(width);
    // a query, its first key and its first weight in a head
    const each = (visit) => {
      for (let row = 0, w = 0; row < batch; row++)
        for (let i = 0; i < queries; i++)
          for (let head = 0; head < heads; head++, w += keys) {
            const from = (row * queries + i) * d + head * width;
            visit(from, row * keys * 2 * d + head * width, w, row, i);
          }
    };
    each((from, to, w, row, i) => {
      let [most, sum] = [-Infinity, 0];
      for (let j = 0, key = to; j < keys; j++, key += 2 * d) {
        let score = 0;
        for (let c = 0; c < width; c++) score += q[from + c] * kv[key + c];
        weights[w + j] = sees(row, i, j) ? score * scale : -Infinity;
        most = Math.max(most, weights[w + j]);
      }
      if (most === -Infinity) most = 0; // it sees none: all weights are 0
      for (let j = 0; j < keys; j++)
        sum += weights[w + j] = Math.exp(weights[w + j] - most);
      for (let j = 0, key = to; j < keys; j++, key += 2 * d) {
        const weight = (weights[w + j] /= sum || 1);
        for (let c = 0; c < width; c++)
          y.values[from + c] += weight * kv[key + d + c];
      }
    });
    const [gq, gkv, g] = [query.gradient, memory.gradient, y.gradient];
    const slopes = new Float32Array(keys);
    this.steps.push(() =>
      each((from, to, w) => {
        let along = 0;
        for (let j = 0, key = to; j < keys; j++, key += 2 * d) {
          let slope = 0;
          for (let c = 0; c < width; c++) {
            slope += g[from + c] * kv[key + d + c];
            gkv[key + d + c] += g[from + c] * weights[w + j];
          }
          slopes[j] = slope;
          along += slope * weights[w + j];
        }
        for (let j = 0, key = to; j < keys; j++, key += 2 * d) {
          const score = weights[w + j] * (slopes[j] - along) * scale;
          for (let c = 0; c < width; c++) {
            gq[from + c] += score * kv[key + c];
            gkv[key + c] += score * q[from + c];
          }
        }
      }),
    );
    return y;
  }

  /** The mean of -log p of the right tokens but padding, in nats. */
  loss({ columns: n, values, gradient }, targets) {
    const count = targets.filter((token) => token !== PAD).length;
    let total = 0;
    targets.forEach((token, row) => {
      if (token === PAD) return;
      const p = values.subarray(row * n, (row + 1) * n);
      const shift = logSumExp(p);
      total += shift - p[token];
      for (let j = 0; j < n; j++)
        gradient[row * n + j] = Math.exp(p[j] - shift) / count;
      gradient[row * n + token] -= 1 / count;
    });
    return total / count;
  }
}

/** Rows of tokens, filled up with padding to one length. */
function padded(rows) {
  const length = Math.max(...rows.map((row) => row.length));
  const fill = (row) => [...row, ...Array(length - row.length).fill(PAD)];
  return { tokens: rows.flatMap(fill), length };
}

/**
 * What may be seen, and three bugs of chapter 16: the decoder looks into
 * the future; cross-attention has its mask upside down, or the decoder's.
 */
function masks({ tokens, length }, bug) {
  const words = (row, i, j) => tokens[row * length + j] !== PAD;
  const past = (row, i, j) => j <= i;
  const bugs = {
    "no mask": { self: () => true },
    "mask upside down": { cross: (...at) => !words(...at) },
    "target's mask": { cross: past },
  };
  return { encoder: words, self: past, cross: words, ...bugs[bug] };
}

/** Sines and cosines of the first positions (chapter 3). */
const sinusoids = (length, d) =>
  Float32Array.from({ length: length * d }, (_, k) =>
    wave(Math.floor(k / d), k % d, d),
  );

/** The Transformer: norms before the sub-layers, one embedding. */
export class Transformer {
  /**
   * @param {{vocab_size: number, layers: number, d_model: number,
   *   d_ff: number, heads: number}} sizes
   * @param {() => number} random
   * @param {string | null} bug
   */
  constructor(sizes, random, bug = null) {
    const { layers, d_model: d, d_ff, heads } = sizes;
    this.d_model = d;
    this.heads = heads;
    this.bug = bug;
    /** @type {Record<string, Matrix>} */
    this.parameters = {};
    this.pass = new Pass();
    const parameter = (name, rows, columns, draw) => {
      const made = new Matrix(rows, columns);
      made.values.forEach((_, i) => (made.values[i] = draw()));
      return (this.parameters[name] = made);
    };
    const linear = (name, rows, columns, { fan = rows, parts = 1 } = {}) => {
      const bound = Math.sqrt(6 / (fan + columns) / parts); // Glorot's
      const draw = () => bound * (2 * random() - 1);
      const weight = parameter(`${name}.weight`, rows, columns, draw);
      return { weight, bias: parameter(`${name}.bias`, 1, rows, () => 0) };
    };
    const norm = (name) => ({
      weight: parameter(`${name}.weight`, 1, d, () => 1),
      bias: parameter(`${name}.bias`, 1, d, () => 0),
    });
    const stack = (side, looks) => {
      const parts = layers * (looks.length + 1); // that add to one sum
      const layer = (_, i) => {
        const at = `${side}.layers.${i}`;
        const inside = `${at}.feed_forward`;
        return {
          looks: looks.map(([box, kind]) => ({
            norm: norm(`${at}.around_${box}.norm`),
            query: linear(`${at}.${kind}.query`, d, d),
            memory: linear(`${at}.${kind}.key_value`, 2 * d, d, { fan: d }),
            output: linear(`${at}.${kind}.output`, d, d, { parts }),
          })),
          thinks: {
            norm: norm(`${at}.around_feed_forward.norm`),
            inner: linear(`${inside}.inner`, d_ff, d),
            outer: linear(`${inside}.outer`, d, d_ff, { parts }),
          },
        };
      };
      const made = Array.from({ length: layers }, layer);
      return { layers: made, norm: norm(`${side}.norm`) };
    };
    const size = () => Math.sqrt((-2 / d) * Math.log(1 - random()));
    const draw = () => size() * Math.cos(2 * Math.PI * random()); // normal
    this.tokens = parameter(
      ...["source.tokens.weight", sizes.vocab_size, d, draw],
    );
    this.encoder = stack("encoder", [["attention", "self_attention"]]);
    this.decoder = stack("decoder", [
      ["self", "self_attention"],
      ["cross", "cross_attention"],
    ]);
  }

  embed({ tokens, length }) {
    const positions = sinusoids(length, this.d_model);
    const factor = Math.sqrt(this.d_model);
    return this.pass.embed(this.tokens, tokens, factor, positions);
  }

  look(x, { norm, query, memory, output }, batch, sees, known) {
    const { pass, heads } = this;
    const y = pass.norm(x, norm);
    const kv = known ?? pass.linear(y, memory);
    const asked = pass.linear(y, query);
    const found = pass.attention(asked, kv, heads, batch, sees);
    return pass.add(x, pass.linear(found, output));
  }

  think(x, { norm, inner, outer }) {
    const { pass } = this;
    const hidden = pass.relu(pass.linear(pass.norm(x, norm), inner));
    return pass.add(x, pass.linear(hidden, outer));
  }

  /** What the decoder needs of the source, and the masks. */
  read(source) {
    const batch = source.tokens.length / source.length;
    const seen = masks(source, this.bug);
    let x = this.embed(source);
    for (const { looks, thinks } of this.encoder.layers)
      x = this.think(this.look(x, looks[0], batch, seen.encoder), thinks);
    const memory = this.pass.norm(x, this.encoder.norm);
    const sources = this.decoder.layers.map(({ looks }) =>
      this.pass.linear(memory, looks[1].memory),
    );
    return { batch, seen, sources };
  }

  /** Logits of the next token, after each of the target. */
  write({ batch, seen, sources }, target) {
    let x = this.embed(target);
    this.decoder.layers.forEach(({ looks, thinks }, i) => {
      x = this.look(x, looks[0], batch, seen.self);
      x = this.look(x, looks[1], batch, seen.cross, sources[i]);
      x = this.think(x, thinks);
    });
    x = this.pass.norm(x, this.decoder.norm);
    return this.pass.linear(x, { weight: this.tokens });
  }

  /** The loss of a batch; its gradient is added to the parameters'. */
  learn(sources, targets) {
    this.pass = new Pass();
    const { tokens, length } = padded(targets);
    const before = (i) => (i % length ? tokens[i - 1] : BOS);
    const inputs = tokens.map((x, i) => (x === PAD ? PAD : before(i)));
    const target = { tokens: inputs, length };
    const logits = this.write(this.read(padded(sources)), target);
    const loss = this.pass.loss(logits, tokens);
    this.pass.backward();
    return loss;
  }

  /** Greedy outputs: what is written is read again (chapter 10). */
  translate(sources, limit) {
    this.pass = new Pass();
    const memory = this.read(padded(sources));
    const rows = sources.map(() => [BOS]);
    const ended = (row) => row.includes(EOS);
    for (let n = 1; n <= limit && !rows.every(ended); n++) {
      this.pass = new Pass(); // what it keeps for the way back is let go
      const target = { tokens: rows.flat(), length: n };
      const { columns, values } = this.write(memory, target);
      rows.forEach((row, i) => {
        const end = (i + 1) * n * columns;
        const logits = values.subarray(end - columns, end);
        row.push(...largest(logits));
      });
    }
    const end = (row) => (ended(row) ? row.indexOf(EOS) : row.length);
    return rows.map((row) => row.slice(1, end(row)));
  }
}

/** Adam with the paper's constants; a gradient longer than 1 is cut. */
export class Adam {
  constructor(parameters) {
    this.parameters = Object.values(parameters);
    this.step = 0;
    this.means = this.parameters.map(({ values }) =>
      [0, 1].map(() => new Float32Array(values.length)),
    );
  }

  update(rate) {
    const [beta1, beta2, eps] = [0.9, 0.98, 1e-9];
    this.step += 1;
    let square = 0;
    for (const { gradient } of this.parameters)
      for (let i = 0; i < gradient.length; i++) square += gradient[i] ** 2;
    const clip = Math.min(1, 1 / (Math.sqrt(square) + 1e-6));
    const first = rate / (1 - beta1 ** this.step);
    const second = 1 / (1 - beta2 ** this.step);
    this.parameters.forEach(({ values, gradient }, p) => {
      const [m, v] = this.means[p];
      for (let i = 0; i < values.length; i++) {
        const g = gradient[i] * clip;
        m[i] += (1 - beta1) * (g - m[i]);
        v[i] += (1 - beta2) * (g * g - v[i]);
        values[i] -= (first * m[i]) / (Math.sqrt(v[i] * second) + eps);
      }
      gradient.fill(0);
    });
  }
}

/** Up to the peak in some updates, then straight down to zero. */
export const linearRate = (step, peak, warmup, steps) =>
  step <= warmup
    ? (peak * step) / warmup
    : (peak * Math.max(0, steps - step)) / (steps - warmup);

/** One training, on strings that are drawn as it goes. */
export class Training {
  /**
   * @param {{model: {vocab_size: number, layers: number, d_model: number,
   *   d_ff: number, heads: number}, letters: string, lengths: number[],
   *   batch: number, steps: number, every: number, tested: number,
   *   asked: number}} recipe how many strings are `tested`, and how many
   *   are `asked` before all are
   * @param {{task: string, bug: string | null, seed: number}} chosen
   */
  constructor(recipe, { task, bug, seed }) {
    this.recipe = recipe;
    this.task = task;
    this.step = 0;
    this.finished = false;
    let drawn = 0;
    this.random = () => uniform(seed, drawn++);
    this.network = new Transformer(recipe.model, this.random, bug);
    this.adam = new Adam(this.network.parameters);
    this.unread = new Set();
    while (this.unread.size < recipe.tested) this.unread.add(this.string());
  }

  string() {
    const { letters, lengths } = this.recipe;
    const among = (count) => Math.floor(this.random() * count);
    const length = lengths[0] + among(lengths[1] - lengths[0] + 1);
    const letter = () => letters[among(letters.length)];
    return Array.from({ length }, letter).join("");
  }

  /** What is to be written for a string. */
  answer(string) {
    return this.task === "copy" ? string : [...string].reverse().join("");
  }

  ids(string) {
    const { letters } = this.recipe;
    return [...string].map((x) => FIRST + letters.indexOf(x));
  }

  /** One update, on strings that are not tested: its loss. */
  update({ rate, warmup }) {
    const { batch, steps } = this.recipe;
    const drawn = [];
    while (drawn.length < batch) {
      const string = this.string();
      if (!this.unread.has(string)) drawn.push(string);
    }
    this.step += 1;
    const loss = this.network.learn(
      drawn.map((string) => [...this.ids(string), EOS]),
      drawn.map((string) => [...this.ids(this.answer(string)), EOS]),
    );
    this.adam.update(linearRate(this.step, rate, warmup, steps));
    return loss;
  }

  /** Unread strings, what is written for them, and what should be. */
  written(count) {
    const { letters, lengths } = this.recipe;
    const strings = [...this.unread].slice(0, count);
    const sources = strings.map((string) => [...this.ids(string), EOS]);
    const found = this.network.translate(sources, lengths[1] + 2);
    const named = (id) => letters[id - FIRST] ?? "?";
    return strings.map((string, i) => {
      const text = found[i].map(named).join("");
      return [string, text, this.answer(string)];
    });
  }

  /** How many are right: of some, and if all of those are, of all. */
  exam() {
    const { asked, tested } = this.recipe;
    let samples = this.written(asked);
    const right = () => samples.filter(([, x, y]) => x === y).length;
    if (right() === asked) samples = this.written(tested);
    this.finished = right() === tested;
    return { right: right(), of: samples.length, samples };
  }
}

/** What answers the page: it trains, and hears the page in between. */
export function answers(post) {
  /** @type {Training} */
  let training;
  let settings = { rate: 0, warmup: 0 };
  let [seconds, running] = [0, false];
  /** @type {number | undefined} */
  let timer;
  const over = () =>
    training.finished || training.step >= training.recipe.steps;
  const work = () => {
    const began = performance.now();
    const losses = [];
    let exam;
    while (!exam && performance.now() - began < 80) {
      losses.push(training.update(settings));
      if (training.step % training.recipe.every === 0) exam = training.exam();
    }
    seconds += (performance.now() - began) / 1000;
    const { step } = training;
    const ended = over();
    post({ step, losses, exam, seconds, ended });
    running &&= !ended;
    if (running) timer = setTimeout(work);
  };
  return ({ begin, run, ...given }) => {
    if (begin) {
      const [recipe, chosen] = begin;
      training = new Training(recipe, chosen);
    }
    settings = given.settings ?? settings;
    if (run === undefined) return;
    clearTimeout(timer);
    running = run && !over();
    if (running) timer = setTimeout(work);
  };
}
