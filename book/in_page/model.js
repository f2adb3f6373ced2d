/**
 * The Transformer of this book, for one sentence at a time, with an encoder
 * or, as a language model, without one.
 *
 * What the chapters 1 to 5 compute with tensors is written out here in plain
 * loops, and so are the parts of chapter 17 that shipped models have. A
 * sequence is an array of vectors, one for a token. With one sentence there is
 * no padding and so no mask: a decoder position is given only the keys that it
 * may see. Nothing is trained, so there is no dropout.
 *
 * Weights are 8-bit integers: row r of a matrix is its integers times the
 * scale of the row. All arithmetic is that of JavaScript's numbers, which are
 * doubles.
 *
 * Every activation passes through a tap, `tap(name, values, places)`, which
 * may look at it and returns what the model goes on with. What a module of the
 * package returns has that module's name, `encoder.layers.1.feed_forward`; what it
 * computes on the way has a name of its own behind it: `tokens` and
 * `positions.table` of an embedding, `query`, `keys`, `values`, `scores`,
 * `weights` and `heads` of an attention, `hidden` of a feed-forward network.
 * `decoder.mask` is what each position may look at. The values are an array
 * over the places: positions of the source, nodes of the target.
 */

import { angle, logSumExp, moments, softmax, wave } from "./arithmetic.js";

/** The bytes that a base64 text stands for. */
function fromBase64(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/**
 * The tensors as a tree, by their names in the package: the tensor
 * `encoder.0.feed_forward.inner.weight` is where its name leads.
 *
 * A matrix has its integers among the bytes and a scale for each row among
 * the floats; a vector (a bias, a norm) is all floats.
 */
function unpack({ tensors, bytes, floats }) {
  const integers = new Int8Array(fromBase64(bytes).buffer);
  const reals = new Float32Array(fromBase64(floats).buffer);
  let [i, f] = [0, 0];
  const tree = {};
  for (const [name, rows, columns] of tensors) {
    const path = name.split(".");
    const last = path.pop();
    const place = path.reduce((node, key) => (node[key] ??= {}), tree);
    place[last] = reals.subarray(f, (f += rows));
    if (columns === undefined) continue;
    const values = integers.subarray(i, (i += rows * columns));
    place[last] = { rows, columns, values, scales: place[last] };
  }
  return tree;
}

/** W x + b for every vector x. */
function linear(vectors, { weight, bias }) {
  return vectors.map((x) => {
    const y = product(x, weight);
    if (bias) for (let row = 0; row < y.length; row++) y[row] += bias[row];
    return y;
  });
}

/**
 * W x. Four rows of W go along together, so that the processor need not
 * wait for one sum before it adds to the next.
 */
function product(x, { rows, columns, values, scales }) {
  const y = new Float64Array(rows);
  for (let block = 0; block < rows; block += 4) {
    const row = Math.min(block, rows - 4);
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let j = 0, k = row * columns; j < columns; j++, k++) {
      const v = x[j];
      a += v * values[k];
      b += v * values[k + columns];
      c += v * values[k + 2 * columns];
      d += v * values[k + 3 * columns];
    }
    [a, b, c, d].forEach((sum, i) => (y[row + i] = sum * scales[row + i]));
  }
  return y;
}

/** max(0, x), written over x: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2. */
function relu(x) {
  for (let i = 0; i < x.length; i++) if (x[i] < 0) x[i] = 0;
  return x;
}

/** SiLU(x W) * x V; one matrix is W and V (chapter 17). */
function swiglu(x) {
  const gates = x.subarray(0, x.length / 2);
  const passes = x.subarray(gates.length);
  return gates.map((z, i) => (z / (1 + Math.exp(-z))) * passes[i]);
}

/** Each vector with mean 0 and variance 1, then scaled and shifted. */
function layerNorm(vectors, { weight, bias }) {
  return vectors.map((x) => {
    const [mean, scale] = moments(x, 0, x.length);
    return x.map((v, i) => (v - mean) * scale * weight[i] + bias[i]);
  });
}

/** Each vector over the root of its mean square, then scaled. */
function rmsNorm(vectors, { weight }) {
  return vectors.map((x) => {
    const square = dot(x, x, 0, x.length) / x.length;
    return x.map((v, i) => (v / Math.sqrt(square + 1e-5)) * weight[i]);
  });
}

/** Each pair of a head's numbers, turned by its position (chapter 17). */
function rotate(x, position, width) {
  return x.map((_, i) => {
    const turn = angle(position, i % width, width);
    const [a, b] = [x[i - (i % 2)], x[i - (i % 2) + 1]];
    return i % 2
      ? a * Math.sin(turn) + b * Math.cos(turn)
      : a * Math.cos(turn) - b * Math.sin(turn);
  });
}

// What a configuration may name; a position is added or turns, or neither.
const NORMS = { layer: layerNorm, rms: rmsNorm };
const FEED_FORWARDS = { relu, swiglu };
const ADDED = { sinusoidal: wave, rotary: () => 0 };
const TURNED = { sinusoidal: (x) => x, rotary: rotate };

/** log(softmax(x)), written over x: a whole vocabulary is not copied. */
function logSoftmax(x) {
  const shift = logSumExp(x);
  for (let i = 0; i < x.length; i++) x[i] -= shift;
  return x;
}

/** The sums of vectors, place by place. */
const plus = (xs, ys) => xs.map((x, i) => x.map((v, j) => v + ys[i][j]));

/** The product of a slice of x with the same slice of y. */
function dot(x, y, begin, end) {
  let sum = 0;
  for (let i = begin; i < end; i++) sum += x[i] * y[i];
  return sum;
}

/** The scores of a query with some keys, by head (chapter 2). */
function scoresOf(query, keys, heads) {
  const width = query.length / heads; // d_k
  return Array.from({ length: heads }, (_, head) =>
    Float64Array.from(keys, (key) => {
      const begin = head * width;
      return dot(query, key, begin, begin + width) / Math.sqrt(width);
    }),
  );
}

/** What the heads find, side by side: means of values, by their weights. */
function meansOf(values, weights) {
  const output = new Float64Array(values[0].length);
  const depth = output.length / weights.length; // d_v
  weights.forEach((row, head) =>
    values.forEach((value, place) => {
      for (let i = head * depth; i < (head + 1) * depth; i++)
        output[i] += row[place] * value[i];
    }),
  );
  return output;
}

const asItIs = (_, values) => values;

/** The taps of what has names that begin with this one. */
const within = (tap, name, places) => (part, values, given) =>
  tap(`${name}.${part}`, values, places, given);

/**
 * A token of an output: a node of a tree whose root is the begin of the
 * sentence. The way from the root to a node is a hypothesis, so a beam that
 * branches shares the keys and values of what came before: nothing is copied.
 */
export class Node {
  // by layer, and filled in when it is read
  /** @type {Float64Array[]} */ keys = [];
  /** @type {Float64Array[]} */ values = [];
  // the weights of its self-attention and of cross-attention, by layer, head
  /** @type {Weights[][]} */ decoder = [];
  /** @type {Weights[][]} */ cross = [];
  // what a search has found likely after it
  /** @type {{token: number, p: number, barred: boolean}[]} */ candidates = [];
  /** @type {Node[]} */ way;

  /**
   * @param {number} token
   * @param {Node | null} parent
   */
  constructor(token, parent) {
    this.token = token;
    this.way = parent ? [...parent.way, this] : [this];
  }

  get position() {
    return this.way.length - 1;
  }
}

export class Model {
  /** @param {Packed} packed what _ext/models_in_page.py has written */
  constructor(packed) {
    const { source, target, encoder, decoder } = unpack(packed);
    const { norm, feed_forward, positions, heads, d_k } = packed.config;
    this.embedding = (source ?? target).tokens;
    this.encoder = Object.values(encoder?.layers ?? {});
    this.decoder = Object.values(decoder.layers);
    this.encoderNorm = encoder?.norm;
    this.decoderNorm = decoder.norm;
    this.norm = NORMS[norm];
    this.activation = FEED_FORWARDS[feed_forward];
    this.added = ADDED[positions];
    this.turned = (x, position) => TURNED[positions](x, position, d_k);
    this.heads = heads;
    this.keyWidth = d_k * heads;
  }

  /** Tokens' vectors, scaled, plus what tells their places (chapter 3). */
  embed(name, tokens, positions, tap, places) {
    const own = within(tap, name, places);
    const { columns, values, scales } = this.embedding.weight;
    const rows = tokens.map((token) => {
      const scale = Math.sqrt(columns) * scales[token];
      const begin = token * columns;
      return Float64Array.from(
        { length: columns },
        (_, i) => values[begin + i] * scale,
      );
    });
    const waves = positions.map((position) =>
      Float64Array.from({ length: columns }, (_, i) =>
        this.added(position, i, columns),
      ),
    );
    const words = own("tokens", rows);
    return tap(name, plus(words, own("positions.table", waves)), places);
  }

  /** The box Add & Norm around a sub-layer, the norm first (chapter 4). */
  addNorm(own, layer, name, vectors, sublayer) {
    const normed = this.norm(vectors, layer[name].norm);
    const written = sublayer(own(`${name}.norm`, normed, vectors));
    return own(name, plus(vectors, written), written);
  }

  /** Keys and values of some vectors; one matrix makes both. */
  keysValues(own, name, vectors, { key_value }) {
    const both = linear(vectors, key_value);
    const cut = (...ends) => both.map((x) => x.subarray(...ends));
    return {
      keys: own(`${name}.keys`, cut(0, this.keyWidth)),
      values: own(`${name}.values`, cut(this.keyWidth)),
    };
  }

  /**
   * The queries of some vectors, each put in its place, on the keys and
   * values that it sees (chapter 2).
   * Returns what the attention answers, and its weights by query and head,
   * each with what it was made of: the query and the keys, where in them the
   * head's numbers are, and the scores.
   */
  attend(own, name, vectors, place, seen, attention) {
    const asked = own(`${name}.query`, linear(vectors, attention.query));
    const queries = asked.map(place);
    const scores = own(
      `${name}.scores`,
      queries.map((query, i) => scoresOf(query, seen[i].keys, this.heads)),
    );
    const width = this.keyWidth / this.heads;
    const weights = own(
      `${name}.weights`,
      scores.map((heads, i) =>
        heads.map((row, head) => {
          const [query, { keys }] = [queries[i], seen[i]];
          const part = { begin: head * width, width };
          const made = { query, keys, scores: row, ...part };
          return Object.assign(softmax(row), { made });
        }),
      ),
    );
    const found = weights.map((heads, i) => meansOf(seen[i].values, heads));
    const answers = linear(own(`${name}.heads`, found), attention.output);
    return { weights, answers: own(name, answers) };
  }

  /** Feed-forward, at each place alone (chapter 4). */
  feed(own, vectors, { inner, outer }) {
    const hidden = linear(vectors, inner).map(this.activation);
    const name = "feed_forward";
    return own(name, linear(own(`${name}.hidden`, hidden), outer));
  }

  /**
   * Read the source. Returns the memory as each decoder layer's keys and
   * values, the encoder's weights by layer, query and head, and the tap, by
   * which step goes on.
   * @param {number[]} ids the source's, closed by the end of the sentence
   * @param {Tap} tap
   */
  encode(ids, tap = asItIs) {
    const maps = [];
    const places = [...ids.keys()];
    let x = this.embed("source", ids, places, tap, places);
    this.encoder.forEach((layer, l) => {
      const own = within(tap, `encoder.layers.${l}`, places);
      const [name, part] = ["self_attention", layer.self_attention];
      x = this.addNorm(own, layer, "around_attention", x, (y) => {
        const { keys, values } = this.keysValues(own, name, y, part);
        const seen = { keys: keys.map(this.turned), values };
        const all = y.map(() => seen);
        const found = this.attend(own, name, y, this.turned, all, part);
        maps.push(found.weights);
        return found.answers;
      });
      x = this.addNorm(own, layer, "around_feed_forward", x, (y) =>
        this.feed(own, y, layer.feed_forward),
      );
    });
    const normed = this.norm(x, this.encoderNorm);
    const memory = tap("encoder.norm", normed, places, x);
    const sources = this.decoder.map((layer, l) => {
      const own = within(tap, `decoder.layers.${l}`, places);
      const name = "cross_attention";
      return this.keysValues(own, name, memory, layer.cross_attention);
    });
    return { maps, sources, tap };
  }

  /**
   * Read one token more of each hypothesis, or several that follow each
   * other; the nodes keep their keys, values and attention weights. Returns
   * the log-probabilities of what comes next, an array over the vocabulary
   * for each node.
   * @param {TokenNode[]} nodes
   * @param {Partial<Encoded>} source of encode, if there is an encoder
   */
  step(nodes, { sources = [], tap = asItIs } = {}) {
    const [tokens, positions] = ["token", "position"].map((key) =>
      nodes.map((node) => node[key]),
    );
    let x = this.embed("target", tokens, positions, tap, nodes);
    const ways = nodes.map(({ way }) => way);
    const visible = tap("decoder.mask", ways, nodes);
    this.decoder.forEach((layer, l) => {
      const own = within(tap, `decoder.layers.${l}`, nodes);
      const [itself, cross] = [layer.self_attention, layer.cross_attention];
      const attention = (name, part, y, seen, place, kept) => {
        const found = this.attend(own, name, y, place, seen, part);
        nodes.forEach((node, i) => (node[kept][l] = found.weights[i]));
        return found.answers;
      };
      const turned = (x, i) => this.turned(x, positions[i]);
      const around = layer.around_self ? "around_self" : "around_attention";
      x = this.addNorm(own, layer, around, x, (y) => {
        const name = "self_attention";
        const { keys, values } = this.keysValues(own, name, y, itself);
        nodes.forEach((node, i) => {
          node.keys[l] = turned(keys[i], i);
          node.values[l] = values[i];
        });
        const seen = visible.map((way) => ({
          keys: way.map((node) => node.keys[l]),
          values: way.map((node) => node.values[l]),
        }));
        return attention(name, itself, y, seen, turned, "decoder");
      });
      if (cross)
        x = this.addNorm(own, layer, "around_cross", x, (y) => {
          const seen = nodes.map(() => sources[l]);
          const place = (query) => query; // it has its place already
          return attention("cross_attention", cross, y, seen, place, "cross");
        });
      x = this.addNorm(own, layer, "around_feed_forward", x, (y) =>
        this.feed(own, y, layer.feed_forward),
      );
    });
    x = tap("decoder.norm", this.norm(x, this.decoderNorm), nodes, x);
    const logits = tap("logits", linear(x, this.embedding), nodes);
    return logits.map(logSoftmax);
  }
}
