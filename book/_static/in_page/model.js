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
 */
(() => {
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

  /** FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (chapter 4). */
  function feedForward(vectors, { inner, outer }) {
    const hidden = linear(vectors, inner);
    for (const x of hidden)
      for (let i = 0; i < x.length; i++) if (x[i] < 0) x[i] = 0;
    return linear(hidden, outer);
  }

  /** (SiLU(x W) * x V) W_2; one matrix is W and V (chapter 17). */
  function swiglu(vectors, { inner, outer }) {
    const hidden = linear(vectors, inner).map((x) => {
      const gates = x.subarray(0, x.length / 2);
      const passes = x.subarray(gates.length);
      return gates.map((z, i) => (z / (1 + Math.exp(-z))) * passes[i]);
    });
    return linear(hidden, outer);
  }

  /** Each vector with mean 0 and variance 1, then scaled and shifted. */
  function layerNorm(vectors, { weight, bias }) {
    return vectors.map((x) => {
      const y = new Float64Array(x.length);
      let mean = 0;
      for (let i = 0; i < x.length; i++) mean += x[i] / x.length;
      let variance = 0;
      for (let i = 0; i < x.length; i++)
        variance += (x[i] - mean) ** 2 / x.length;
      const scale = 1 / Math.sqrt(variance + 1e-5);
      for (let i = 0; i < x.length; i++)
        y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
      return y;
    });
  }

  /** Each vector over the root of its mean square, then scaled. */
  function rmsNorm(vectors, { weight }) {
    return vectors.map((x) => {
      const square = dot(x, x, 0, x.length) / x.length;
      return x.map((v, i) => (v / Math.sqrt(square + 1e-5)) * weight[i]);
    });
  }

  /** The angle of component i at a position; pairs share one (chapter 3). */
  const angle = (position, i, width) =>
    position / 10000 ** ((i - (i % 2)) / width);

  /** Sines and cosines, by turns: what is added to a token's vector. */
  const wave = (position, i, width) =>
    (i % 2 ? Math.cos : Math.sin)(angle(position, i, width));

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
  const FEED_FORWARDS = { relu: feedForward, swiglu };
  const ADDED = { sinusoidal: wave, rotary: () => 0 };
  const TURNED = { sinusoidal: (x) => x, rotary: rotate };

  /** log(sum(exp(x))), with the largest x taken off first. */
  function logSumExp(x) {
    let largest = -Infinity;
    for (let i = 0; i < x.length; i++) if (x[i] > largest) largest = x[i];
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - largest);
    return largest + Math.log(sum);
  }

  /** log(softmax(x)), written over x: a whole vocabulary is not copied. */
  function logSoftmax(x) {
    const shift = logSumExp(x);
    for (let i = 0; i < x.length; i++) x[i] -= shift;
    return x;
  }

  /** softmax(x), of the few scores that a query has. */
  function softmax(x) {
    const shift = logSumExp(x);
    return x.map((v) => Math.exp(v - shift));
  }

  /** The product of a slice of x with the same slice of y. */
  function dot(x, y, begin, end) {
    let sum = 0;
    for (let i = begin; i < end; i++) sum += x[i] * y[i];
    return sum;
  }

  /**
   * One query on some keys and values, in every head (chapter 2).
   * Returns what the heads found, side by side, and their weights, by head,
   * each with what it was made of: the query and the keys, and where in them
   * the head's numbers are.
   */
  function attend(query, keys, values, heads) {
    const width = query.length / heads; // d_k
    const depth = values[0].length / heads; // d_v
    const output = new Float64Array(heads * depth);
    const weights = [];
    for (let head = 0; head < heads; head++) {
      const begin = head * width;
      const scores = Float64Array.from(
        keys,
        (key) => dot(query, key, begin, begin + width) / Math.sqrt(width),
      );
      const made = { query, keys, begin, width };
      weights.push(Object.assign(softmax(scores), { made }));
      values.forEach((value, place) => {
        const weight = weights[head][place];
        for (let i = head * depth; i < (head + 1) * depth; i++)
          output[i] += weight * value[i];
      });
    }
    return { output, weights };
  }

  /**
   * A token of an output: a node of a tree whose root is the begin of the
   * sentence. The way from the root to a node is a hypothesis, so a beam that
   * branches shares the keys and values of what came before: nothing is copied.
   */
  class Node {
    /**
     * @param {number} token
     * @param {Node | null} parent
     */
    constructor(token, parent) {
      this.token = token;
      this.way = parent ? [...parent.way, this] : [this];
      this.keys = []; // by layer, like the rest: filled in when it is read
      this.values = [];
      this.decoder = []; // the weights of its self-attention, by layer, head
      this.cross = []; // and of its cross-attention
    }

    get position() {
      return this.way.length - 1;
    }
  }

  class Model {
    /** @param {object} packed what _ext/models_in_page.py has written */
    constructor(packed) {
      const { source, target, encoder, decoder } = unpack(packed);
      const { norm, feed_forward, positions, heads, d_k } = packed.config;
      this.embedding = (source ?? target).tokens;
      this.encoder = Object.values(encoder?.layers ?? {});
      this.decoder = Object.values(decoder.layers);
      this.encoderNorm = encoder?.norm;
      this.decoderNorm = decoder.norm;
      this.norm = NORMS[norm];
      this.feedForward = FEED_FORWARDS[feed_forward];
      this.added = ADDED[positions];
      this.turned = (x, position) =>
        TURNED[positions](x, position, d_k);
      this.heads = heads;
      this.keyWidth = d_k * heads;
    }

    /** A token's vector, scaled, plus what tells its place (chapter 3). */
    embed(token, position) {
      const { columns, values, scales } = this.embedding.weight;
      const scale = Math.sqrt(columns) * scales[token];
      const x = new Float64Array(columns);
      for (let i = 0; i < columns; i++) {
        const place = this.added(position, i, columns);
        x[i] = values[token * columns + i] * scale + place;
      }
      return x;
    }

    /** The box Add & Norm around a sub-layer, the norm first (chapter 4). */
    addNorm({ norm }, vectors, sublayer) {
      const written = sublayer(this.norm(vectors, norm));
      return written.map((y, i) => y.map((v, j) => v + vectors[i][j]));
    }

    /** Keys and values of some vectors; one matrix makes both. */
    keysValues(vectors, { key_value }) {
      const both = linear(vectors, key_value);
      return {
        keys: both.map((x) => x.subarray(0, this.keyWidth)),
        values: both.map((x) => x.subarray(this.keyWidth)),
      };
    }

    /**
     * Read the source. Returns the memory as each decoder layer's keys and
     * values, and the encoder's weights by layer, query and head.
     * @param {number[]} ids the source's, closed by the end of the sentence
     */
    encode(ids) {
      const maps = [];
      let x = ids.map((id, position) => this.embed(id, position));
      for (const layer of this.encoder) {
        const attention = layer.self_attention;
        x = this.addNorm(layer.around_attention, x, (y) => {
          const { keys, values } = this.keysValues(y, attention);
          const placed = keys.map(this.turned);
          const found = linear(y, attention.query).map((query, i) =>
            attend(this.turned(query, i), placed, values, this.heads),
          );
          maps.push(found.map(({ weights }) => weights));
          return linear(
            found.map(({ output }) => output),
            attention.output,
          );
        });
        x = this.addNorm(layer.around_feed_forward, x, (y) =>
          this.feedForward(y, layer.feed_forward),
        );
      }
      const memory = this.norm(x, this.encoderNorm);
      const sources = this.decoder.map((layer) =>
        this.keysValues(memory, layer.cross_attention),
      );
      return { maps, sources };
    }

    /**
     * Read one token more of each hypothesis, or several that follow each
     * other; the nodes keep their keys, values and attention weights. Returns
     * the log-probabilities of what comes next, an array over the vocabulary
     * for each node.
     * @param {Node[]} nodes
     * @param {object} source what encode has returned, if there is an encoder
     */
    step(nodes, { sources } = {}) {
      let x = nodes.map(({ token, position }) => this.embed(token, position));
      this.decoder.forEach((layer, l) => {
        const [itself, cross] = [layer.self_attention, layer.cross_attention];
        const around = layer.around_self ?? layer.around_attention;
        x = this.addNorm(around, x, (y) => {
          const { keys, values } = this.keysValues(y, itself);
          nodes.forEach((node, i) => {
            node.keys[l] = this.turned(keys[i], node.position);
            node.values[l] = values[i];
          });
          const outputs = linear(y, itself.query).map((query, i) => {
            const pastKeys = nodes[i].way.map((node) => node.keys[l]);
            const pastValues = nodes[i].way.map((node) => node.values[l]);
            const placed = this.turned(query, nodes[i].position);
            const found = attend(placed, pastKeys, pastValues, this.heads);
            nodes[i].decoder[l] = found.weights;
            return found.output;
          });
          return linear(outputs, itself.output);
        });
        const read = (y) => {
          const { keys, values } = sources[l];
          const outputs = linear(y, cross.query).map((query, i) => {
            const found = attend(query, keys, values, this.heads);
            nodes[i].cross[l] = found.weights;
            return found.output;
          });
          return linear(outputs, cross.output);
        };
        if (cross) x = this.addNorm(layer.around_cross, x, read);
        x = this.addNorm(layer.around_feed_forward, x, (y) =>
          this.feedForward(y, layer.feed_forward),
        );
      });
      x = this.norm(x, this.decoderNorm);
      return linear(x, this.embedding).map(logSoftmax);
    }
  }

  Object.assign((globalThis.inPage ??= {}), { Model, Node });
})();
