// Made by make bundle from book/in_page: edit that.
var inPage;
(inPage ||= {}).writer = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // writer.js
  var writer_exports = {};
  __export(writer_exports, {
    Model: () => Model,
    Node: () => Node,
    Writer: () => Writer,
    show: () => show,
    uniform: () => uniform
  });

  // arithmetic.js
  function logSumExp(x) {
    let largest = -Infinity;
    for (let i = 0; i < x.length; i++) if (x[i] > largest) largest = x[i];
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - largest);
    return largest + Math.log(sum);
  }
  function softmax(x) {
    const shift = logSumExp(x);
    return x.map((v) => Math.exp(v - shift));
  }
  function moments(x, begin, end) {
    let [mean, variance] = [0, 0];
    const n = end - begin;
    for (let i = begin; i < end; i++) mean += x[i] / n;
    for (let i = begin; i < end; i++) variance += (x[i] - mean) ** 2 / n;
    return [mean, 1 / Math.sqrt(variance + 1e-5)];
  }
  var angle = (position, i, width) => position / 1e4 ** ((i - i % 2) / width);
  var wave = (position, i, width) => (i % 2 ? Math.cos : Math.sin)(angle(position, i, width));
  function uniform(seed, i) {
    let x = seed + Math.imul(i + 1, 1831565813) | 0;
    x = Math.imul(x ^ x >>> 15, x | 1);
    x ^= x + Math.imul(x ^ x >>> 7, x | 61);
    return ((x ^ x >>> 14) >>> 0) / 2 ** 32;
  }

  // elements.js
  function make(tag, given = {}, ...inside) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name || "div");
    element.classList.add(...classes);
    for (const [key, value] of Object.entries(given))
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }
  var rest = (ms = 0) => new Promise((done) => setTimeout(done, ms));
  var chance = (p) => p < 5e-4 ? "< 0.001" : p.toFixed(3);
  var WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0] };
  Object.assign(WAYS, { ArrowDown: [0, 1], ArrowUp: [0, -1] });

  // model.js
  function fromBase64(text) {
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  }
  function unpack({ tensors, bytes, floats }) {
    const integers = new Int8Array(fromBase64(bytes).buffer);
    const reals = new Float32Array(fromBase64(floats).buffer);
    let [i, f] = [0, 0];
    const tree = {};
    for (const [name, rows, columns] of tensors) {
      const path = name.split(".");
      const last = path.pop();
      const place = path.reduce((node, key) => node[key] ??= {}, tree);
      place[last] = reals.subarray(f, f += rows);
      if (columns === void 0) continue;
      const values = integers.subarray(i, i += rows * columns);
      place[last] = { rows, columns, values, scales: place[last] };
    }
    return tree;
  }
  function linear(vectors, { weight, bias }) {
    return vectors.map((x) => {
      const y = product(x, weight);
      if (bias) for (let row = 0; row < y.length; row++) y[row] += bias[row];
      return y;
    });
  }
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
      [a, b, c, d].forEach((sum, i) => y[row + i] = sum * scales[row + i]);
    }
    return y;
  }
  function relu(x) {
    for (let i = 0; i < x.length; i++) if (x[i] < 0) x[i] = 0;
    return x;
  }
  function swiglu(x) {
    const gates = x.subarray(0, x.length / 2);
    const passes = x.subarray(gates.length);
    return gates.map((z, i) => z / (1 + Math.exp(-z)) * passes[i]);
  }
  function layerNorm(vectors, { weight, bias }) {
    return vectors.map((x) => {
      const [mean, scale] = moments(x, 0, x.length);
      return x.map((v, i) => (v - mean) * scale * weight[i] + bias[i]);
    });
  }
  function rmsNorm(vectors, { weight }) {
    return vectors.map((x) => {
      const square = dot(x, x, 0, x.length) / x.length;
      return x.map((v, i) => v / Math.sqrt(square + 1e-5) * weight[i]);
    });
  }
  function rotate(x, position, width) {
    return x.map((_, i) => {
      const turn = angle(position, i % width, width);
      const [a, b] = [x[i - i % 2], x[i - i % 2 + 1]];
      return i % 2 ? a * Math.sin(turn) + b * Math.cos(turn) : a * Math.cos(turn) - b * Math.sin(turn);
    });
  }
  var NORMS = { layer: layerNorm, rms: rmsNorm };
  var FEED_FORWARDS = { relu, swiglu };
  var ADDED = { sinusoidal: wave, rotary: () => 0 };
  var TURNED = { sinusoidal: (x) => x, rotary: rotate };
  function logSoftmax(x) {
    const shift = logSumExp(x);
    for (let i = 0; i < x.length; i++) x[i] -= shift;
    return x;
  }
  var plus = (xs, ys) => xs.map((x, i) => x.map((v, j) => v + ys[i][j]));
  function dot(x, y, begin, end) {
    let sum = 0;
    for (let i = begin; i < end; i++) sum += x[i] * y[i];
    return sum;
  }
  function scoresOf(query, keys, heads) {
    const width = query.length / heads;
    return Array.from(
      { length: heads },
      (_, head) => Float64Array.from(keys, (key) => {
        const begin = head * width;
        return dot(query, key, begin, begin + width) / Math.sqrt(width);
      })
    );
  }
  function meansOf(values, weights) {
    const output = new Float64Array(values[0].length);
    const depth = output.length / weights.length;
    weights.forEach(
      (row, head) => values.forEach((value, place) => {
        for (let i = head * depth; i < (head + 1) * depth; i++)
          output[i] += row[place] * value[i];
      })
    );
    return output;
  }
  var asItIs = (_, values) => values;
  var within = (tap, name, places) => (part, values, given) => tap(`${name}.${part}`, values, places, given);
  var Node = class {
    // by layer, and filled in when it is read
    /** @type {Float64Array[]} */
    keys = [];
    /** @type {Float64Array[]} */
    values = [];
    // the weights of its self-attention and of cross-attention, by layer, head
    /** @type {Weights[][]} */
    decoder = [];
    /** @type {Weights[][]} */
    cross = [];
    // what a search has found likely after it
    /** @type {{token: number, p: number, barred: boolean}[]} */
    candidates = [];
    /** @type {Node[]} */
    way;
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
  };
  var Model = class {
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
          (_, i) => values[begin + i] * scale
        );
      });
      const waves = positions.map(
        (position) => Float64Array.from(
          { length: columns },
          (_, i) => this.added(position, i, columns)
        )
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
        values: own(`${name}.values`, cut(this.keyWidth))
      };
    }
    /**
     * Queries on the keys and values that each of them sees (chapter 2).
     * Returns what the attention answers, and its weights by query and head,
     * each with what it was made of: the query and the keys, where in them the
     * head's numbers are, and the scores.
     */
    attend(own, name, queries, seen, { output }) {
      const scores = own(
        `${name}.scores`,
        queries.map((query, i) => scoresOf(query, seen[i].keys, this.heads))
      );
      const width = this.keyWidth / this.heads;
      const weights = own(
        `${name}.weights`,
        scores.map(
          (heads, i) => heads.map((row, head) => {
            const [query, { keys }] = [queries[i], seen[i]];
            const part = { begin: head * width, width };
            const made = { query, keys, scores: row, ...part };
            return Object.assign(softmax(row), { made });
          })
        )
      );
      const found = weights.map((heads, i) => meansOf(seen[i].values, heads));
      const answers = linear(own(`${name}.heads`, found), output);
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
          const queries = own(`${name}.query`, linear(y, part.query));
          const placed = queries.map(this.turned);
          const all = placed.map(() => seen);
          const found = this.attend(own, name, placed, all, part);
          maps.push(found.weights);
          return found.answers;
        });
        x = this.addNorm(
          own,
          layer,
          "around_feed_forward",
          x,
          (y) => this.feed(own, y, layer.feed_forward)
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
      const [tokens, positions] = ["token", "position"].map(
        (key) => nodes.map((node) => node[key])
      );
      let x = this.embed("target", tokens, positions, tap, nodes);
      const ways = nodes.map(({ way }) => way);
      const visible = tap("decoder.mask", ways, nodes);
      this.decoder.forEach((layer, l) => {
        const own = within(tap, `decoder.layers.${l}`, nodes);
        const [itself, cross] = [layer.self_attention, layer.cross_attention];
        const attention = (name, part, y, seen, place, kept) => {
          const queries = own(`${name}.query`, linear(y, part.query));
          const placed = queries.map(place);
          const found = this.attend(own, name, placed, seen, part);
          nodes.forEach((node, i) => node[kept][l] = found.weights[i]);
          return found.answers;
        };
        const turned = (x2, i) => this.turned(x2, positions[i]);
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
            values: way.map((node) => node.values[l])
          }));
          return attention(name, itself, y, seen, turned, "decoder");
        });
        if (cross)
          x = this.addNorm(own, layer, "around_cross", x, (y) => {
            const seen = nodes.map(() => sources[l]);
            const place = (query) => query;
            return attention("cross_attention", cross, y, seen, place, "cross");
          });
        x = this.addNorm(
          own,
          layer,
          "around_feed_forward",
          x,
          (y) => this.feed(own, y, layer.feed_forward)
        );
      });
      x = tap("decoder.norm", this.norm(x, this.decoderNorm), nodes, x);
      const logits = tap("logits", linear(x, this.embedding), nodes);
      return logits.map(logSoftmax);
    }
  };

  // casing.js
  var BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  var LETTER = "\\p{L}\\p{N}_";
  var BEGINNING = new RegExp(`(?<![^${BLANK}])[^${LETTER}]*[${LETTER}]`, "gu");
  var BETWEEN = new RegExp(`[^${BLANK}]+`, "gu");
  var ENDS = new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "gu");
  var CORE = `[${LETTER}](?:[^${BLANK}]*[${LETTER}])?`;
  var WORD = new RegExp(CORE, "u");
  var WORDS = new RegExp(CORE, "gu");
  var FIRST = new RegExp(`[${LETTER}]`, "u");
  var stripped = (text) => text.replace(ENDS, "");

  // tokenizer.js
  var END = 2;
  var SPACE = "▁";
  var RESERVED = 4;
  var UNKNOWN = 3;
  var Tokenizer = class {
    /**
     * @param {Vocabulary} vocabulary pieces and scores by id, what stands for
     *   what, and whether a blank is put before a text
     */
    constructor({ pieces, scores, rules, prefix }) {
      this.prefix = prefix ? SPACE : "";
      this.pieces = pieces;
      this.rules = new Map(rules);
      this.longest = Math.max(0, ...rules.map(([from]) => [...from].length));
      this.ids = /* @__PURE__ */ new Map();
      for (let id = RESERVED; id < pieces.length; id++)
        this.ids.set(pieces[id], id);
      this.scores = scores;
      this.unknown = UNKNOWN;
    }
    /**
     * The text by the rules, the longest that fits at each place, and with
     * single blanks; a tokenizer without rules leaves it as it is.
     * @param {string} text
     * @returns {string}
     */
    normalize(text) {
      if (!this.rules.size) return text;
      const characters = [...text];
      let found = "";
      for (let i = 0; i < characters.length; ) {
        let length = this.longest;
        let from = characters.slice(i, i + length).join("");
        while (length > 1 && !this.rules.has(from))
          from = characters.slice(i, i + --length).join("");
        found += this.rules.get(from) ?? from;
        i += length;
      }
      return found.replace(/ +/g, " ").replace(/^ | $/g, "");
    }
    /**
     * The pieces of a text, from left to right.
     * @param {string} text
     * @returns {string[]}
     */
    split(text) {
      const half = /\p{Surrogate}/gu;
      const whole = this.normalize(text.replace(half, "?"));
      if (!whole) return [];
      const parts = [...(this.prefix + whole).replaceAll(" ", SPACE)];
      for (; ; ) {
        let best = -1;
        let highest = -Infinity;
        for (let i = 0; i + 1 < parts.length; i++) {
          const id = this.ids.get(parts[i] + parts[i + 1]);
          if (id !== void 0 && this.scores[id] > highest)
            [best, highest] = [i, this.scores[id]];
        }
        if (best < 0) return this.joinUnknown(parts);
        parts.splice(best, 2, parts[best] + parts[best + 1]);
      }
    }
    /** Characters without a piece, side by side, are one unknown. */
    joinUnknown(parts) {
      const joined = [];
      let before = true;
      for (const part of parts) {
        const known = this.ids.has(part);
        if (known || before) joined.push(part);
        else joined[joined.length - 1] += part;
        before = known;
      }
      return joined;
    }
    /**
     * The ids of a text's pieces; the end of the sentence is not among them.
     * @param {string} text
     * @returns {number[]}
     */
    encode(text) {
      return this.split(text).map((part) => this.ids.get(part) ?? UNKNOWN);
    }
    /**
     * The text of some ids; a blank put before it does not belong to it.
     * @param {number[]} ids
     * @returns {string}
     */
    decode(ids) {
      let text = "";
      for (const id of ids) {
        let piece = this.pieces[id];
        if (id === UNKNOWN) piece = "⁇";
        else if (id < RESERVED) piece = "";
        else if (!text && piece.startsWith(this.prefix))
          piece = piece.slice(this.prefix.length);
        text += piece.replaceAll(SPACE, " ");
      }
      return text;
    }
  };

  // sample.js
  var Writer = class {
    /** @param {PackedWriter} packed */
    constructor(packed) {
      this.model = new Model(packed);
      this.tokenizer = new Tokenizer(packed.vocabulary);
      this.context = packed.config.context;
      this.mark = packed.mark;
      this.tokens = [];
      this.node = null;
      this.ranked = [];
    }
    /** Begin a text. */
    begin(text) {
      this.tokens = [];
      this.node = null;
      this.read(this.ids(text));
    }
    /**
     * The ids of a text, as DocumentReader in annotated_transformer/text has
     * them: a line that is the mark ends a document.
     * @param {string} text
     * @returns {number[]}
     */
    ids(text) {
      const lines = text.replace(/^\ufeff/, "").split("\n").map((line) => line.replace(/\r$/, ""));
      const last = lines.pop() ?? "";
      const ids = lines.map(
        (line) => stripped(line) === this.mark ? [END] : this.tokenizer.encode(`${line}
`)
      );
      return [END, ...ids.flat(), ...this.tokenizer.encode(last)];
    }
    /**
     * Read on. Where the text outgrows the context, its last half is read
     * again. The log-probabilities of the next token are then in `ranked`,
     * pairs of a token and its own, the likeliest first.
     * @param {number[]} tokens
     */
    read(tokens) {
      this.tokens.push(...tokens);
      const before = this.node ? this.node.way.length : 0;
      if (before + tokens.length > this.context) {
        this.node = null;
        tokens = this.tokens.slice(-Math.floor(this.context / 2));
      }
      const nodes = tokens.map((id) => this.node = new Node(id, this.node));
      const [following] = this.model.step(nodes).slice(-1);
      this.ranked = [...following.entries()].sort((a, b) => b[1] - a[1]);
    }
    /** The text of a token after another text; a mark gets its own line. */
    text(token, before) {
      if (token !== END) return this.tokenizer.decode([token]);
      return `${/[^\n]$/.test(before) ? "\n" : ""}${this.mark}
`;
    }
  };

  // writer.js
  var model = globalThis.inPage.models.writer;
  var PACE = 25;
  var LIMIT = 500;
  var SHOWN = 5;
  var NAMES = {
    "</s>": "end of speech",
    "\n": "end of line",
    "▁": "space"
  };
  var calm = matchMedia("(prefers-reduced-motion: reduce)");
  var Widget = class {
    writing = false;
    count = 0;
    // letters that were written
    chosen = 0;
    // of these, by the reader
    spent = 0;
    // ms
    /** @type {HTMLElement[]} */
    buttons;
    // of the candidates
    /** @type {(logP: number[]) => number[]} */
    allowed;
    // by the options
    constructor(place) {
      this.run = 0;
      this.writer = new Writer(model);
      place.classList.add("at-live");
      place.querySelector(".at-still").after(this.form(), this.result());
      this.begin();
    }
    focus() {
      this.button.focus();
    }
    /** What is asked: a beginning, the options, a seed. */
    form() {
      const button = (tag, text, click) => make(`button.${tag}`, { type: "button", click }, text);
      const begin = () => this.begin();
      const again = () => {
        this.begin();
        this.write();
      };
      const example = ([name, text]) => button("at-quiet", name, () => {
        this.beginning.value = text;
        this.begin();
      });
      const beginnings = Object.entries(model.beginnings);
      const lines = { rows: 2, maxlength: 240, spellcheck: "false" };
      this.beginning = make(
        "textarea",
        { id: "at-beginning", input: begin, ...lines },
        beginnings[0][1]
      );
      const options = make(".widget-controls", {});
      this.allowed = samplingOptions(options, () => this.look(), 0.8);
      const number = { type: "number", min: 0, max: 999999, value: 1 };
      this.seed = make("input", { id: "at-seed", input: begin, ...number });
      const label = make("label", { for: "at-seed" }, "seed");
      this.button = button(
        "at-main",
        "Write",
        () => this.writing ? this.stop() : this.write()
      );
      return make(
        ".at-form",
        {},
        make(
          ".at-row.at-head",
          {},
          make("label.at-title", { for: "at-beginning" }, "How it begins"),
          make(".at-examples", {}, "Examples:", ...beginnings.map(example))
        ),
        this.beginning,
        options,
        make(
          ".at-row",
          {},
          this.button,
          make("span.at-field", {}, label, this.seed),
          button("at-quiet", "from the beginning", again),
          button("at-quiet", "with another seed", () => {
            this.seed.value = 1 + Math.floor(9999 * Math.random());
            again();
          })
        )
      );
    }
    /** What is answered: the text, and what may come next. */
    result() {
      const given = { tabindex: 0, role: "region", "aria-label": "The text" };
      this.page = make(".at-page", given);
      this.said = make("p.at-hidden", { role: "status" });
      this.note = make("p.at-note.at-count", {});
      this.buttons = Array.from({ length: SHOWN }, (_, i) => {
        const click = () => this.choose(i);
        return make("button", { type: "button", click });
      });
      const items = this.buttons.map((button) => make("li", {}, button));
      this.candidates = make(
        "section.at-next",
        { "aria-label": "The next character" },
        make("p.at-title", {}, "Or choose the next:"),
        make("ol.at-bars", {}, ...items)
      );
      const both = make(".at-written", {}, this.page, this.candidates);
      return make("section", {}, both, this.said, this.note);
    }
    /** Read the beginning, and wait. */
    begin() {
      const { tokenizer } = this.writer;
      const text = this.beginning.value;
      this.writer.begin(text);
      this.page.replaceChildren(make("span.at-given", {}, text));
      this.count = this.chosen = this.spent = 0;
      this.line = text.split("\n").at(-1);
      this.unseen = "";
      const strange = tokenizer.split(text).filter((piece) => !tokenizer.ids.has(piece));
      this.stop();
      if (strange.length)
        for (const part of [this.note, this.said])
          part.textContent = `The model has never seen ${strange.join(" ")}.`;
    }
    /** The shares of the ranked tokens, by the options. */
    shares() {
      return this.allowed(this.writer.ranked.map(([, logP]) => logP));
    }
    /** Write until the reader, or the limit, ends it. */
    async write() {
      const run = ++this.run;
      this.writing = true;
      this.button.textContent = "Stop";
      this.candidates.classList.add("at-away");
      for (let i = 0; i < LIMIT; i++) {
        const random = uniform(Number(this.seed.value), this.count);
        this.add(widgets.formulas.pick(this.shares(), random), "at-drawn");
        await rest(calm.matches ? 0 : PACE);
        if (run !== this.run) return;
      }
      this.stop();
    }
    /** Rest: the reader may look at what comes next, and choose. */
    stop() {
      this.run++;
      this.show("at-drawn");
      if (this.writing) this.said.textContent = this.line;
      this.writing = false;
      this.button.textContent = this.count ? "Write on" : "Write";
      this.candidates.classList.remove("at-away");
      this.look();
      const pace = (this.spent / this.count).toFixed(1);
      const own = this.chosen ? `, ${this.chosen} of them yours` : "";
      this.note.textContent = this.count ? `${this.count} characters${own}; each takes ${pace} ms to compute.` : "";
    }
    /** Take the candidate of this place in the model's stead. */
    choose(place) {
      this.chosen++;
      this.add(place, "at-chosen");
      this.stop();
    }
    /** Put the token of this rank behind the text. */
    add(place, by) {
      const begin = performance.now();
      const [token] = this.writer.ranked[place];
      this.writer.read([token]);
      this.count++;
      const text = this.writer.text(token, this.line);
      this.unseen += text;
      this.line += text;
      this.spent += performance.now() - begin;
      const ended = text.endsWith("\n");
      if (ended && this.line.trim()) this.said.textContent = this.line;
      if (ended) this.line = "";
      if (ended || !calm.matches || by === "at-chosen") this.show(by);
    }
    /** Put on the page what has been written: letters, or calmly a line. */
    show(by) {
      let last = this.page.lastChild;
      if (this.unseen && !last.classList.contains(by))
        this.page.append(last = make(`span.${by}`));
      last.append(this.unseen);
      this.unseen = "";
      this.page.scrollTop = this.page.scrollHeight;
    }
    /** The likeliest next characters, as the options leave them. */
    look() {
      if (this.writing) return;
      const { ranked, tokenizer } = this.writer;
      const shares = this.shares();
      this.buttons.forEach((button, i) => {
        const piece = tokenizer.pieces[ranked[i][0]];
        const p = shares[i] ? chance(shares[i]) : "cut";
        button.parentElement?.style.setProperty("--share", shares[i].toFixed(3));
        button.replaceChildren(
          make("span", {}, NAMES[piece] ?? piece),
          " ",
          make("span.at-p", {}, p)
        );
      });
    }
  };
  var show = (place) => new Widget(place);
  return __toCommonJS(writer_exports);
})();
