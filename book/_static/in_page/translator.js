// Made by make bundle from book/in_page: edit that.
var inPage;
(inPage ||= {}).translator = (() => {
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

  // translator.js
  var translator_exports = {};
  __export(translator_exports, {
    Translator: () => Translator,
    sentences: () => sentences,
    show: () => show
  });

  // arithmetic.js
  function logSumExp(x) {
    let largest2 = -Infinity;
    for (let i = 0; i < x.length; i++) if (x[i] > largest2) largest2 = x[i];
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += Math.exp(x[i] - largest2);
    return largest2 + Math.log(sum);
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
  function largest(numbers, count = 1) {
    const places = [];
    let least = -Infinity;
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

  // elements.js
  var SPACE = "▁";
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
  var listed = (words, type = "conjunction") => new Intl.ListFormat(document.documentElement.lang, { type }).format(words);
  var joined = (...sentences2) => sentences2.filter(Boolean).reduce((all, one) => say("{} {}", all, one));
  var share = (weight) => ({ style: `--share: ${weight.toFixed(3)}` });
  var digits = (x, count) => x.toFixed(count).replace(/^-(?=[0.]+$)/, "").replace("-", "−");
  var chance = (p) => p < 5e-4 ? "< 0.001" : p.toFixed(3);
  var named = (piece) => piece.startsWith(SPACE) ? [make("span.at-space", {}, SPACE), piece.slice(1)] : [piece];
  function chips(tag, pieces, given = () => ({})) {
    return pieces.flatMap((piece, i) => {
      const text = piece.replaceAll(SPACE, "") || "␣";
      const begins = piece.startsWith(SPACE) || piece.startsWith("<");
      return [begins && i ? " " : "", make(tag, given(piece, i), text)];
    });
  }
  var WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0] };
  Object.assign(WAYS, { ArrowDown: [0, 1], ArrowUp: [0, -1] });

  // attention.js
  var LINE = "01_attention.html#export-attention_weights";
  function attentionTable({ title, rows, columns, weights, now }, explain) {
    const cell = (i, j) => {
      if (weights[i]?.[j] === void 0) return make("td.at-unseen");
      const text = weights[i][j].toFixed(2);
      const given = {
        title: say("{} on {}: {}", rows[i], columns[j], text),
        click: () => explain(i, j)
      };
      return make(
        "td",
        { ...share(weights[i][j]), ...given },
        make("span.at-hidden", {}, text)
      );
    };
    const line = (row, i) => make(
      i === now ? "tr.at-now" : "tr",
      {},
      make("th", { scope: "row" }, ...named(row)),
      ...columns.map((_, j) => cell(i, j))
    );
    const names = columns.map(
      (column) => make("th", { scope: "col" }, make("span", {}, ...named(column)))
    );
    return make(
      "table",
      { "aria-label": title, style: `--columns: ${columns.length}` },
      make("thead", {}, make("tr", {}, make("td"), ...names)),
      make("tbody", {}, ...rows.map(line))
    );
  }
  function explanation(weights, j, row, column) {
    const { query, keys, scores, begin, width } = weights.made;
    const part = (x) => [...x.subarray(begin, begin + width)];
    const [q, k] = [part(query), part(keys[j])];
    const product2 = q.reduce((sum, x, i) => sum + x * k[i], 0);
    const [dot2, score] = [digits(product2, 2), digits(scores[j], 2)];
    const scaled = Math.abs(scores[j] * Math.sqrt(width) - product2) < 1e-6;
    const list = (x) => x.map((value) => digits(value, 2)).join(" ");
    const line = make("a", { href: LINE }, "attention_weights");
    return [
      make(
        "p",
        {},
        ...phrase("How {} looks at {}: ", named(row), named(column)),
        scaled ? say("q · k = {}, over √{} it is {}. ", dot2, width, score) : say("q · k = {}, without the scale that is {}. ", dot2, score),
        ...phrase(
          "e to the power of {} is {} of the sum of such powers over all pieces. This is {} of chapter 1.",
          ...[score, weights[j].toFixed(2), line]
        )
      ),
      make("p.at-numbers", {}, `q = ${list(q)}`),
      make("p.at-numbers", {}, `k = ${list(k)}`)
    ];
  }
  var AttentionView = class {
    /** @type {AttentionRun} */
    run;
    /** @type {number} */
    at;
    // the step, from 0
    /** @type {number | undefined} */
    reader;
    // the piece that was chosen
    /**
     * @param {{layers: number, heads: number, layer: number, head: number}}
     *   sizes how many there are, and which one is shown first, from 1
     */
    constructor({ layers, heads, layer: first, head: firstHead }) {
      this.seen = make("p.at-source", {});
      this.map = make(".at-map", { tabindex: 0, role: "region" });
      this.summary = make("p.at-note", {});
      this.legend = make("p.at-note", {});
      this.origin = make(".at-origin", { role: "status" });
      const choose = (name, title, options) => {
        const names = options.map(
          (text, i) => make("option", { value: i }, text)
        );
        const id = `at-${name}`;
        const change = () => this.draw();
        const select = make("select", { id, change }, ...names);
        const label = make("label", { for: id }, title);
        return [select, make("span.at-field", {}, label, select)];
      };
      const numbers = (count) => Array.from({ length: count }, (_, i) => i + 1);
      const [kind, kindLabel] = choose("attention", say("attention"), [
        say("cross"),
        say("encoder"),
        say("decoder")
      ]);
      const [layer, layerLabel] = choose("layer", say("layer"), numbers(layers));
      const [head, headLabel] = choose("head", say("head"), numbers(heads));
      this.kind = kind;
      this.layer = layer;
      this.head = head;
      layer.value = first - 1;
      head.value = firstHead - 1;
      this.element = make(
        "section",
        { "aria-label": say("Attention") },
        make(".at-row", {}, kindLabel, layerLabel, headLabel),
        this.seen,
        this.summary,
        this.legend,
        this.map,
        this.origin
      );
    }
    /**
     * Show a translation at a step, counted from 0.
     * @param {AttentionRun} run
     * @param {number} at
     */
    show(run, at) {
      this.run = run;
      this.at = at;
      this.reader = void 0;
      this.draw();
    }
    /**
     * The weights of the chosen layer and head: rows of queries, what names
     * rows and columns, and the row that is looked at. The decoder's row is
     * that of the step. The encoder has no steps: its row is the piece that
     * the reader chose, and at first the one that cross-attention looks at.
     */
    chosen() {
      const [layer, head] = [Number(this.layer.value), Number(this.head.value)];
      const { read, target, maps, best } = this.run;
      const way = best.node.way.slice(0, -1);
      const said = ["<s>", ...target.slice(0, -1)];
      const cross = way.map((node) => node.cross[layer][head]);
      const moment = say(
        "each row is the moment before the piece on the left was written"
      );
      const before = (...given) => phrase(
        "Before it wrote {}, {} of layer {}, head {} looked most at {}.",
        ...given
      );
      return [
        {
          name: say("Cross-attention"),
          rows: target,
          columns: read,
          weights: cross,
          at: this.at,
          looked: before,
          queries: moment,
          lang: "en"
        },
        {
          name: say("Encoder self-attention"),
          rows: read,
          columns: read,
          weights: maps[layer].map((query) => query[head]),
          at: this.reader ?? largest(cross[this.at])[0],
          looked: (...given) => phrase(
            "When it read {}, {} of layer {}, head {} looked most at {}.",
            ...given
          ),
          queries: say("each row is a piece that the encoder reads"),
          lang: "en",
          choose: (i) => {
            this.reader = i;
            this.draw();
            this.seen.querySelectorAll("button")[i].focus();
          }
        },
        {
          name: say("Decoder self-attention"),
          rows: target,
          columns: said,
          weights: way.map((node) => node.decoder[layer][head]),
          at: this.at,
          looked: before,
          queries: moment,
          lang: "de"
        }
      ][Number(this.kind.value)];
    }
    /** The chosen map as a table; the row that is looked at stands out. */
    draw() {
      const map = this.chosen();
      const { name, rows, columns, weights } = map;
      const [layer, head] = [Number(this.layer.value), Number(this.head.value)];
      const title = say("{}, layer {}, head {}", name, layer + 1, head + 1);
      this.map.setAttribute("aria-label", title);
      this.legend.textContent = say("{}: {}. ", title, map.queries) + (map.choose ? say("Choose a piece above to look at its row. ") : "") + say("Choose a cell to see how its number was made.");
      this.origin.replaceChildren();
      this.map.replaceChildren(
        attentionTable(
          { title, rows, columns, weights, now: map.at },
          (i, j) => this.explain(weights[i], j, rows[i], columns[j])
        )
      );
      this.shade(map, [layer + 1, head + 1]);
    }
    /**
     * What a row looks at, shaded by how much, and the most of it in words.
     * @param {{name: string, rows: string[], columns: string[], at: number,
     *   weights: Weights[], lang: string, choose?: (i: number) => void,
     *   looked: (...given: unknown[]) => (string | Node)[]}} map
     * @param {number[]} which layer and head, from 1
     */
    shade({ rows, columns, at, choose, ...map }, which) {
      const weights = map.weights[at];
      const name = map.name.replace(/^./, (letter) => letter.toLowerCase());
      const looks = columns.filter((_, i) => weights[i] !== void 0);
      const shaded = (_, i) => ({
        ...share(weights[i]),
        ...choose && {
          type: "button",
          "aria-pressed": String(i === at),
          click: () => choose(i)
        }
      });
      const tag = choose ? "button.at-chip" : "span.at-chip";
      this.seen.lang = map.lang;
      this.seen.replaceChildren(...chips(tag, looks, shaded));
      const [first, second] = looks.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
      const looked = (i) => {
        const click = () => this.explain(weights, i, rows[at], columns[i]);
        const number = weights[i].toFixed(2);
        const given = { type: "button", title: say("How it was made"), click };
        const button = make("button.at-quiet", given, number);
        return [named(columns[i]), button];
      };
      const most = second === void 0 ? phrase("{} ({})", ...looked(first)) : phrase("{} ({}) and {} ({})", ...looked(first), ...looked(second));
      const said = map.looked(named(rows[at]), name, ...which, most);
      this.summary.replaceChildren(...said);
    }
    explain(...weight) {
      this.origin.replaceChildren(...explanation(...weight));
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
  var large = (text) => text.toUpperCase();
  var inCapitals = (text) => large(text.replaceAll("ß", "ẞ"));
  var inTitleCase = (text) => text.replace(BEGINNING, large);
  var asGiven = (text) => text;
  var wordsOf = (text) => [...text.matchAll(BETWEEN)];
  var eachWord = (text, change) => text.replace(BETWEEN, change);
  var stripped = (text) => text.replace(ENDS, "");
  var singleBlanks = (text) => text.replace(new RegExp(`[${BLANK}]+`, "gu"), " ");
  function bySmallLetters(used) {
    const found = /* @__PURE__ */ new Map();
    for (const [form] of wordsOf(used)) {
      const forms = found.get(form.toLowerCase());
      if (forms) forms.push(form);
      else found.set(form.toLowerCase(), [form]);
    }
    return found;
  }
  function asSentence(text, tokenizer, words) {
    const small = text.toLowerCase();
    if (small === large(text)) return [text, asGiven];
    const settings = [
      [small, asGiven],
      [large(text), inCapitals],
      [inTitleCase(text), inTitleCase]
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
  function lowered(text, words) {
    const known = /* @__PURE__ */ new Map();
    for (const word of text.match(WORDS) ?? []) {
      const form = inUse(word, words);
      if ([...word].length > 1 && form && word === large(word) && form !== word)
        known.set(word, form);
    }
    const [alone] = known.size === 1 ? known.keys() : [];
    if (alone && [...alone].length < 4) return text;
    return text.replace(WORDS, (word) => known.get(word) ?? word);
  }
  function loweredWords(text, sentence) {
    const [given, read] = [text, sentence].map((x) => wordsOf(x));
    return [...given.keys()].filter((i) => {
      const [[word], [form]] = [given[i], read[i]];
      return word === large(word) && word !== form;
    });
  }
  function inUse(text, words) {
    const [core] = text.match(WORD) ?? [""];
    const small = core.toLowerCase();
    const forms = words.get(small) ?? words.get(small.replaceAll("ss", "ß"));
    return forms?.includes(core) ? core : forms?.[0] ?? "";
  }
  function rarity(text, tokenizer) {
    const ids = tokenizer.encode(text);
    return ids.length + ids.filter((id) => id === tokenizer.unknown).length;
  }
  function usual(word, tokenizer, words) {
    const form = inUse(word, words);
    if (form) return word.replace(WORD, () => form);
    const lower = word.toLowerCase();
    const small = [lower, lower.replaceAll("ss", "ß")];
    const ways = [...small, ...small.map(inTitleCase), word];
    const counts = ways.map((way) => rarity(way, tokenizer));
    return ways[counts.indexOf(Math.min(...counts))];
  }

  // emphasis.js
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
  function weightsOfWords(rows, source, target) {
    const [from, to] = [source, target].map(wordsOfPieces);
    const weights = target.map(
      (_, j) => source.map((_2, i) => rows[j].reduce((all, head) => all + head[i], 0))
    );
    const found = wordsIn(to).map(() => wordsIn(from).map(() => 0));
    source.forEach((_, i) => {
      const all = weights.reduce((sum, row) => sum + row[i], 0);
      target.forEach((_2, j) => {
        if (from[i] >= 0 && to[j] >= 0)
          found[to[j]][from[i]] += weights[j][i] / Math.sqrt(all || 1);
      });
    });
    return found;
  }
  var wordsIn = (numbers) => [...Array(Math.max(...numbers) + 1)];
  function emphasised(text, { loud, sentence }, [source, target], way) {
    if (!loud.length || !wordsOf(text).length) return text;
    const rows = way.map(({ cross }) => cross.at(-2) ?? cross[0]);
    const weights = weightsOfWords(rows, source, target);
    if (weights.length !== wordsOf(text).length || weights[0].length !== wordsOf(sentence).length)
      return text;
    const set = /* @__PURE__ */ new Set();
    for (const i of loud) {
      const [j2] = largest(weights.map((row) => row[i]));
      if (largest(weights[j2])[0] === i) set.add(j2);
    }
    let j = -1;
    return eachWord(text, (word) => set.has(++j) ? inCapitals(word) : word);
  }

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
      const cut2 = (...ends) => both.map((x) => x.subarray(...ends));
      return {
        keys: own(`${name}.keys`, cut2(0, this.keyWidth)),
        values: own(`${name}.values`, cut2(this.keyWidth))
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
      const visible2 = tap("decoder.mask", ways, nodes);
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
          const seen = visible2.map((way) => ({
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

  // sentences.js
  var CLOSER = `["'”’“»«›)\\]]`;
  var EMOJI = "(?:[\\u2600-\\u27bf\\u{1f000}-\\u{1faff}]|\\ufe0f|\\u200d)";
  var END = new RegExp(
    `(?<![.!?…])(?<![.!?…] )([.!?…](?: ?[.!?…])*(?: ?${CLOSER})*)(?: ?${EMOJI})* |(?<=[a-zß-öø-ÿ])[.!?](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])`,
    "gu"
  );
  var OPENERS = /^["'“”„‘‚«»‹›([]+/;
  var NUMBERED = ["art", "ch", "fig", "no", "nos", "sec", "vol"];
  var ENDING = ["a.m", "etc", "ft", "lb", "oz", "p.m", "usf", "usw"];
  var SHORT = /^(\p{Nd}{1,2}|[\p{L}\p{N}_]|([\p{L}\p{Nl}\p{No}]{1,2}\.)+[\p{L}\p{Nl}\p{No}]{1,3})$/u;
  var LETTER2 = /[\p{L}\p{N}]/u;
  var HALF = /\p{Surrogate}/gu;
  function sentences(text, abbreviations) {
    const words = wordsOf(text.replace(HALF, "?"));
    if (abbreviations === null || !words.length) return [text];
    const found = cut(words.join(" "), abbreviations.split(" "));
    return found.length > 1 ? found : [text];
  }
  function cut(line, abbreviations) {
    const found = [];
    const [read] = line.match(/^.*[\p{L}\p{N}]/su) ?? [""];
    let start = 0;
    for (const { index, 0: match, 1: mark = match } of read.matchAll(END)) {
      const head = line.slice(start, index);
      const end = index + match.length;
      const after = String.fromCodePoint(line.codePointAt(end));
      const word = [...head.split(" ").at(-1)].slice(-20).join("");
      const stays = mark === "." && abbreviated(word, after, abbreviations) || ![".", "!", "?"].includes(mark) && /\p{Lowercase}/u.test(after);
      if (stays || !LETTER2.test(head)) continue;
      found.push(stripped(line.slice(start, end)));
      start = end;
    }
    return [...found, line.slice(start)];
  }
  function abbreviated(given, after, known) {
    const word = given.replace(OPENERS, "");
    const small = word.toLowerCase();
    if (ENDING.includes(small) && /\p{Uppercase}/u.test(after)) return false;
    const numbered = NUMBERED.includes(small) && /\p{Nd}/u.test(after);
    return numbered || known.includes(small) || SHORT.test(word);
  }

  // tokenizer.js
  var BEGIN = 1;
  var END2 = 2;
  var SPACE2 = "▁";
  var RESERVED = 4;
  var UNKNOWN = 3;
  var Tokenizer = class {
    /**
     * @param {Vocabulary} vocabulary pieces and scores by id, what stands for
     *   what, and whether a blank is put before a text
     */
    constructor({ pieces, scores, rules, prefix }) {
      this.prefix = prefix ? SPACE2 : "";
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
      const parts = [...(this.prefix + whole).replaceAll(" ", SPACE2)];
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
      const joined2 = [];
      let before = true;
      for (const part of parts) {
        const known = this.ids.has(part);
        if (known || before) joined2.push(part);
        else joined2[joined2.length - 1] += part;
        before = known;
      }
      return joined2;
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
        text += piece.replaceAll(SPACE2, " ");
      }
      return text;
    }
  };

  // reading.js
  var LETTER3 = /[\p{L}\p{N}]/u;
  var INVISIBLE = /[\p{Cc}\p{Cf}\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
  var AROUND = '"#*•·‣†‡§';
  var PLAIN = /^[\p{L}\p{Nl}\p{No}](.*[\p{L}\p{N}])?[.!?]?$/su;
  var NUMBER = /^\p{Nd}+$/u;
  var ADDRESS = /[\p{L}\p{N}_]@[\p{L}\p{N}_]|:\/\/|(?<![\p{L}\p{N}_])www\./u;
  var BRACKETS = ["()", "[]", "{}", "«»", "“”"];
  var TAG = /<\/?[\p{L}\p{N}_][^<>]*>/gu;
  var FIRST_TAG = new RegExp(`^${TAG.source}`, "u");
  var LAST_TAG = new RegExp(`${TAG.source}$`, "u");
  var Reader = class {
    /**
     * @param {Tokenizer} tokenizer
     * @param {PackedReading} reading the abbreviations of the language if the
     *   model takes sentences one by one, and its words in the forms in use
     */
    constructor(tokenizer, { abbreviations, words }) {
      this.tokenizer = tokenizer;
      this.abbreviations = abbreviations;
      this.words = bySmallLetters(words);
    }
    /**
     * The parts of a line, which are read one by one.
     * @param {string} text
     * @returns {Part[]}
     */
    line(text) {
      return sentences(text, this.abbreviations).map((x) => this.part(x));
    }
    /**
     * A text as it is read at once, and what goes through around it. Unknown
     * are all of its signs without a subword, wherever they are.
     */
    part(text) {
      const { tokenizer } = this;
      let [before, inner, behind, unknown] = ["", text, "", ""];
      const plain = PLAIN.test(text) && !ADDRESS.test(text);
      const known = this.knows(text);
      if (!plain || !known) {
        [before, inner, behind] = this.readable(singleBlanks(text));
        inner = inner.replace(TAG, "");
        for (const sign of new Set(inner))
          if (!LETTER3.test(sign) && !this.knows(sign))
            inner = inner.replaceAll(sign, "");
        const signs = [...new Set(visible(text))];
        if (!known) unknown = signs.filter((x) => !this.knows(x)).join("");
        if (!visible(before)) before = "";
        if (!visible(behind)) behind = "";
      }
      const [sentence, setting] = asSentence(inner, tokenizer, this.words);
      const ids = [...tokenizer.encode(sentence), END2];
      const blank = !stripped(sentence) || ids.length === 1;
      const loud = setting === asGiven ? loweredWords(inner, sentence) : [];
      const whole = (written) => {
        const set = setting(written);
        const cut2 = behind && !sentence.endsWith(".");
        return before + (cut2 ? set.replace(/\.$/, "") : set) + behind;
      };
      const around = { before, behind, unknown, loud, whole };
      return { text, sentence, ids, blank, ...around };
    }
    /** Whether a text has no character without a subword. */
    knows(text) {
      return !this.tokenizer.encode(text).includes(this.tokenizer.unknown);
    }
    /** Whether a letter of a word is in one of its subwords. */
    knowsSome(word) {
      const { ids } = this.tokenizer;
      const known = (piece) => ids.has(piece) && /\p{L}/u.test(piece);
      return this.tokenizer.split(word).some(known);
    }
    /**
     * What is read of a text, and what goes through around it.
     * @returns {[before: string, inner: string, behind: string]}
     */
    readable(text) {
      const words = wordsOf(text);
      const read = (x) => !ADDRESS.test(x[0]) && this.knowsSome(x[0]);
      let [first, last] = [words.findIndex(read), words.findLastIndex(read)];
      if (first < 0) return [text, "", ""];
      while (first > 0 && NUMBER.test(words[first - 1][0])) first--;
      const closes = (x) => [...x[0]].every((sign) => this.closes(sign));
      while (last + 1 < words.length && closes(words[last + 1])) last++;
      const begin = words[first].index;
      const end = words[last].index + words[last][0].length;
      let [before, inner] = between(text, begin, end, (x) => this.around(x));
      const count = (sign) => inner.split(sign).length - 1;
      const torn = BRACKETS.some(([x, y]) => count(x) !== count(y));
      if (torn || count('"') % 2) {
        const foreign = (x) => this.foreign(x);
        [before, inner] = between(text, begin, end, foreign);
      }
      return [before, inner, text.slice(before.length + inner.length)];
    }
    /** Whether a sign is a digit, or a mark that belongs to a sentence. */
    closes(sign) {
      const letter = LETTER3.test(sign) && !/\p{Nd}/u.test(sign);
      return !letter && !this.around(sign);
    }
    /** Whether a sign goes through at the ends of a sentence. */
    around(sign) {
      if (this.foreign(sign)) return true;
      const part = /[\p{L}\p{N}\p{M}]/u.test(sign);
      return !part && !(/\p{Po}/u.test(sign) && !AROUND.includes(sign));
    }
    /** Whether a sign has no subword, and is none of a letter's marks. */
    foreign(sign) {
      const mark = /\p{M}/u.test(sign) && !INVISIBLE.test(sign);
      return !(LETTER3.test(sign) || mark || this.knows(sign));
    }
  };
  function between(text, begin, end, goes) {
    let [start, read] = [begin, text.slice(begin, end)];
    for (; ; ) {
      const [sign = ""] = read;
      if (!sign || !goes(sign)) break;
      const [passed] = read.match(FIRST_TAG) ?? [sign];
      start += passed.length;
      read = read.slice(passed.length);
    }
    for (; ; ) {
      const sign = [...read].at(-1) ?? "";
      if (!sign || !goes(sign)) break;
      const [passed] = read.match(LAST_TAG) ?? [sign];
      read = read.slice(0, -passed.length);
    }
    return [text.slice(0, start), read];
  }
  var visible = (text) => [...singleBlanks(text)].filter((x) => x !== " " && !INVISIBLE.test(x)).join("");

  // beam_search.js
  var SHOWN = 6;
  var lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;
  function repeating(node, n) {
    const tokens = node.way.map(({ token }) => token);
    const last = tokens.length - n + 1;
    const found = /* @__PURE__ */ new Set();
    for (let start = 0; n > 0 && start < last; start++) {
      const same = (_, i) => tokens[start + i] === tokens[last + i];
      if (tokens.slice(last).every(same)) found.add(tokens[start + n - 1]);
    }
    return found;
  }
  function* beamSearch(model, source, { width, alpha, noRepeat, limit }) {
    const finished = [];
    const steps = [];
    let live = [{ node: new Node(BEGIN, null), logP: 0 }];
    for (; ; ) {
      const nodes = live.map(({ node }) => node);
      const following = model.step(nodes, source);
      const continuations = live.flatMap(({ node, logP }, row) => {
        const barred = repeating(node, noRepeat);
        const enough = Math.max(width, SHOWN) + barred.size;
        const tokens = largest(following[row], enough);
        node.candidates = tokens.map((token) => {
          const p = Math.exp(following[row][token]);
          return { token, p, barred: barred.has(token) };
        });
        const allowed = tokens.filter((token) => !barred.has(token));
        return allowed.slice(0, width).map((token) => {
          return { parent: node, token, logP: logP + following[row][token] };
        });
      });
      const best = continuations.sort((a, b) => b.logP - a.logP);
      const open = width - finished.length;
      const places = best.slice(0, width).map((chosen, rank) => {
        const node = new Node(chosen.token, chosen.parent);
        const ended = chosen.token === END2 || node.position >= limit;
        const state = rank >= open ? "closed" : ended ? "finished" : "live";
        return { node, logP: chosen.logP, state };
      });
      for (const { node, logP, state } of places) {
        if (state !== "finished") continue;
        const tokens = node.way.slice(1).map(({ token }) => token);
        const score = logP / lengthPenalty(tokens.length, alpha);
        if (tokens.at(-1) === END2) tokens.pop();
        finished.push({ node, tokens, logP, score });
      }
      const step = { places, finished: [...finished] };
      steps.push(step);
      yield step;
      live = places.filter(({ state }) => state === "live");
      const [first] = [...finished].sort((a, b) => b.score - a.score);
      if (live.length === 0) return { ...first, steps };
      const bound = live[0].logP / lengthPenalty(limit, alpha);
      if (first && bound <= first.score) return { ...first, steps };
    }
  }
  var Translator = class {
    /** @param {PackedTranslator} packed */
    constructor(packed) {
      this.model = new Model(packed);
      this.tokenizer = new Tokenizer(packed.vocabulary);
      this.reader = new Reader(this.tokenizer, packed.reading);
      this.alpha = packed.search.alpha;
      this.noRepeat = packed.search.no_repeat;
    }
    /**
     * Translate a line, sentence by sentence: it hands out every step of their
     * searches. At the end it returns the line's parts, what was found for
     * those that have something to read, and the translation.
     * @param {string} line
     * @param {{width?: number, alpha?: number, noRepeat?: number}} options
     */
    *translate(line, { width = 5, alpha = this.alpha, noRepeat = this.noRepeat } = {}) {
      const parts = this.reader.line(line);
      const runs = [];
      const texts = [];
      for (const part of parts) {
        if (part.blank) {
          texts.push(stripped(part.before));
          continue;
        }
        const { sentence, ids } = part;
        const source = this.model.encode(ids);
        const options = { width, alpha, noRepeat, limit: ids.length + 50 };
        const best = yield* beamSearch(this.model, source, options);
        const read = [...this.tokenizer.split(sentence), "</s>"];
        runs.push({ read, maps: source.maps, best });
        const written = this.tokenizer.decode(best.tokens);
        const pieces = best.tokens.map((id) => this.tokenizer.pieces[id]);
        const pair = [read.slice(0, -1), pieces];
        texts.push(part.whole(emphasised(written, part, pair, best.node.way)));
      }
      const text = texts.reduce((all, one) => stripped(`${all} ${one}`));
      return { parts, runs, text };
    }
  };

  // translator.js
  var models = globalThis.inPage.models.translator;
  var WORD2 = /[\p{L}\p{N}'-]+|\S/gu;
  var STATES = { finished: say("finished"), closed: say("closed") };
  var PATIENCE = 50;
  function choice(title, name, options, change, chosen = 0) {
    const radio = ([label, value], i) => {
      const given = { type: "radio", name, value, checked: i === chosen };
      return make("label", {}, make("input", { ...given, change }), label);
    };
    const legend = make("legend", {}, title);
    return make("fieldset.at-search", {}, legend, ...options.map(radio));
  }
  var Widget = class {
    /** @type {PackedTranslator} */
    model;
    /** @type {Translator} */
    translator;
    /** @type {string[]} */
    pieces;
    // by token
    /** @type {string} */
    typed;
    /** @type {AttentionRun} */
    shown;
    // of the sentences that were read
    /** @type {AttentionView} */
    attention;
    constructor(place) {
      this.run = 0;
      place.classList.add("at-live");
      place.querySelector(".at-still").after(this.form(), this.result());
      this.use(models[0]);
    }
    focus() {
      this.text.focus();
    }
    /** Take a model: its examples, its heads, and a first translation. */
    use(model, text = Object.values(model.examples)[0]) {
      this.model = model;
      this.translator = model.translator ??= new Translator(model);
      this.pieces = this.translator.tokenizer.pieces;
      this.text.value = text;
      const radios = this.modelChoice.querySelectorAll("input");
      radios[models.indexOf(model)].checked = true;
      const examples = Object.entries(model.examples);
      this.examples.replaceChildren(
        say("Examples:"),
        ...examples.map(this.example)
      );
      const { decoder, heads } = this.translator.model;
      const [layer, head] = model.cross;
      const sizes = { layers: decoder.length, heads, layer, head };
      this.attention?.element.remove();
      this.attention = new AttentionView(sizes);
      this.panel.append(this.attention.element);
      this.translate();
    }
    /** A button that fills in a sentence. */
    example = ([name, text]) => {
      const click = () => {
        this.text.value = text;
        this.translate();
      };
      const label = say("Example: {}", text);
      const given = { type: "button", "aria-label": label, click };
      return make("button.at-quiet", given, say(name));
    };
    /** What is asked: a sentence, a model and a kind of search. */
    form() {
      this.text = make("textarea", {
        id: "at-text",
        rows: 2,
        maxlength: 240,
        lang: "en",
        spellcheck: "false",
        keydown: (event) => {
          if (event.key !== "Enter" || event.shiftKey) return;
          event.preventDefault();
          this.translate();
        }
      });
      this.examples = make(".at-examples", {});
      const searches = [
        [say("greedy"), 1],
        [say("beam of 5"), 5]
      ];
      this.search = choice(
        say("Search"),
        "at-search",
        searches,
        () => this.translate()
      );
      const labels = models.map(({ label }, i) => [say(label), i]);
      this.modelChoice = choice(
        say("Model"),
        "at-model",
        labels,
        ({ target }) => this.use(models[target.value], this.own())
      );
      this.modelChoice.hidden = models.length === 1;
      return make(
        "form.at-form",
        {
          submit: (event) => {
            event.preventDefault();
            this.translate();
          }
        },
        make(
          ".at-row.at-head",
          {},
          make(
            "label.at-title",
            { for: "at-text" },
            say("A sentence in English")
          ),
          this.examples
        ),
        this.text,
        make(
          ".at-row",
          {},
          make("button.at-main", { type: "submit" }, say("Translate")),
          this.search,
          this.modelChoice
        )
      );
    }
    /** The reader's own sentence, if it is none of the examples. */
    own() {
      const text = this.text.value.trim();
      const examples = Object.values(this.model.examples);
      return text && !examples.includes(text) ? text : void 0;
    }
    /** What is answered: the output, its steps, the attention. */
    result() {
      this.output = make("p.at-output", { lang: "de", "aria-hidden": "true" });
      this.said = make("p.at-hidden", { role: "status", lang: "de" });
      this.gloss = make("p.at-gloss", {});
      this.reading = make(".at-reading", {});
      this.note = make("p.at-note", { role: "status" });
      this.warning = make("p.at-warning", { role: "status" });
      this.step = make("input", {
        id: "at-step",
        type: "range",
        min: 1,
        value: 1,
        input: () => this.look()
      });
      this.stepName = make("label.at-title", { for: "at-step" });
      this.sentences = make("div", {});
      this.candidates = make("section", {});
      this.beam = make("section", {});
      this.panel = make(
        ".at-panel",
        {},
        this.sentences,
        make(".at-stepper", {}, this.stepName, this.step),
        make(".at-columns", {}, this.candidates, this.beam)
      );
      this.panel.hidden = true;
      return make(
        "section",
        { "aria-label": say("The translation") },
        this.output,
        this.said,
        this.gloss,
        this.reading,
        this.warning,
        this.note,
        this.panel
      );
    }
    /** Translate what is typed, and show every step as it comes. */
    async translate() {
      const run = ++this.run;
      const text = this.text.value.trim();
      this.output.replaceChildren();
      this.said.textContent = "";
      for (const part of [this.gloss, this.reading, this.warning])
        part.replaceChildren();
      this.panel.hidden = true;
      this.note.textContent = say("Translating.");
      await rest();
      if (run !== this.run) return;
      const width = Number(this.search.querySelector(":checked").value);
      const begin = performance.now();
      let rested = begin;
      const search = this.translator.translate(text, { width });
      this.typed = text;
      for (; ; ) {
        const { value, done } = search.next();
        if (done) {
          this.finish(value, performance.now() - begin);
          return;
        }
        if (performance.now() - rested < PATIENCE) continue;
        this.write(value.places[0].node);
        await rest();
        if (run !== this.run) return;
        rested = performance.now();
      }
    }
    /** The pieces on the way to a node. */
    written(node) {
      return node.way.slice(1).map(({ token }) => this.pieces[token]);
    }
    /** A hypothesis as chips. */
    write(node) {
      this.output.replaceChildren(...chips("span", this.written(node)));
    }
    /**
     * The search is over: the output can be looked at, step by step.
     * @param {Translated} found
     */
    finish({ parts, runs, text }, spent) {
      const { tokenizer } = this.translator;
      this.said.textContent = text;
      const read = parts.map(({ sentence }) => tokenizer.normalize(sentence));
      const unknown = new Set(parts.flatMap((part) => [...part.unknown]));
      if (unknown.size)
        this.warning.append(
          say("The model cannot read these signs: {}. ", [...unknown].join(" "))
        );
      if (!runs.length) {
        this.output.textContent = text;
        this.note.textContent = text ? "" : say("Type a sentence first.");
        return;
      }
      const tell = (name, lang, what) => this.reading.append(
        make("p.at-note", {}, name, make("span", { lang }, what))
      );
      const all = read.filter(Boolean).join(" ");
      if (all !== this.typed) tell(say("Read as: "), "en", all);
      const written = runs.map(({ best }) => tokenizer.decode(best.tokens));
      if (parts.length > 1) tell(say("All sentences: "), "de", text);
      else if (text !== written[0]) tell(say("Set as you typed: "), "de", text);
      const gloss = this.model.glosses[text];
      this.gloss.textContent = gloss ? say("In English: {}.", say(gloss)) : "";
      const sum = (number) => runs.map(number).reduce((a, b) => a + b);
      const position = sum(({ best }) => best.node.position);
      const logP = sum(({ best }) => best.logP);
      const score = sum(({ best }) => best.score);
      this.note.textContent = say(
        "{} subwords in {} seconds; log-probability {}, {} per subword; score {}.",
        ...[position, (spent / 1e3).toFixed(2), digits(logP, 2)],
        ...[digits(logP / position, 2), digits(score, 2)]
      );
      this.warn(all, logP / position);
      const last = runs.length - 1;
      const numbers = runs.map((_, i) => [i + 1, i]);
      const change = ({ target }) => this.show(runs[target.value]);
      const which = choice(say("Sentence"), "at-which", numbers, change, last);
      this.sentences.replaceChildren(...last ? [which] : []);
      this.panel.hidden = false;
      this.show(runs[last]);
    }
    /** Show how one of the sentences was translated. */
    show({ read, maps, best }) {
      const target = this.written(best.node);
      this.shown = { read, maps, best, target };
      const step = (i) => () => {
        this.step.value = i + 1;
        this.look();
      };
      this.output.replaceChildren(
        ...chips("button.at-chip", target, (_, i) => ({
          type: "button",
          tabindex: -1,
          // the slider does the same for the keyboard
          click: step(i)
        }))
      );
      this.step.max = target.length;
      this.step.value = 1 + this.telling();
      this.look();
    }
    /** Say why the output may be wrong, and offer the model that fits. */
    warn(text, each) {
      const words = [...new Set(text.toLowerCase().match(WORD2))];
      const strange = (model) => words.filter((word) => model.words && !model.words.includes(word));
      const never = strange(this.model).map((word) => `“${word}”`);
      const { usual: usual2, kind } = this.model;
      if (never.length)
        this.warning.append(
          say(
            "Do not rely on this translation: the model has never seen {}. ",
            listed(never, "disjunction")
          )
        );
      else if (each < usual2) {
        const like = say(kind);
        this.warning.append(
          say(
            "Do not rely on this translation: its log-probability per subword is below {}, which 19 of 20 {} reach. ",
            ...[digits(usual2, 2), like]
          )
        );
      }
      const fits = models.find((model) => model.words && !strange(model).length) ?? models.find((model) => !model.words);
      if (!fits || fits === this.model) return;
      const click = () => {
        this.use(fits, this.typed);
        this.text.focus();
      };
      const name = say(fits.label);
      const label = say("Translate with the model for {}", name);
      const button = make("button.at-quiet", { type: "button", click }, label);
      this.warning.append(say(fits.offer), " ", button);
    }
    /**
     * The step at which the model's piece is written, or the unlikeliest; the
     * end of the sentence only if nothing else is written.
     */
    telling() {
      const named2 = (piece) => this.model.pieces.includes(piece);
      const { target, best } = this.shown;
      if (target.some(named2)) return target.findIndex(named2);
      const { way } = best.node;
      const chances = way.slice(1).map(({ token }, i) => {
        if (target[i] === "</s>") return 1;
        const found = way[i].candidates.find((c) => c.token === token);
        return found?.p ?? 0;
      });
      return chances.indexOf(Math.min(...chances));
    }
    /** Show the step that the slider names. */
    look() {
      const at = Number(this.step.value) - 1;
      const { target, best } = this.shown;
      const piece = target[at];
      this.stepName.textContent = say("Step {} of {}", at + 1, target.length);
      this.step.setAttribute(
        "aria-valuetext",
        say("{} of {}, {}", at + 1, target.length, piece)
      );
      [...this.output.children].forEach((chip, i) => {
        chip.classList.toggle("at-now", i === at);
        chip.classList.toggle("at-later", i > at);
      });
      const node = best.node.way[at];
      const bars = node.candidates.map(
        ({ token, p }) => make(
          token === best.node.way[at + 1].token ? "li.at-now" : "li",
          share(p),
          make("span", { lang: "de" }, ...named(this.pieces[token])),
          make("span.at-p", {}, chance(p))
        )
      );
      this.candidates.replaceChildren(
        make("p.at-title", {}, say("What may come here, with probability")),
        make("ol.at-bars", {}, ...bars),
        ...this.barred(node.candidates, best.node.way[at + 1].token)
      );
      this.showBeam(at);
      this.attention.show(this.shown, at);
    }
    /** Why likelier subwords than the one that is written are not. */
    barred(candidates, chosen) {
      const pieces = candidates.slice(
        0,
        candidates.findIndex(({ token }) => token === chosen)
      ).filter(({ barred }) => barred).map(({ token }) => this.pieces[token]);
      const why = say(
        "The search does not write {} here: the same {} subwords in a row would come twice.",
        ...[listed(pieces), this.translator.noRepeat]
      );
      return pieces.length ? [make("p.at-note", {}, why)] : [];
    }
    /** The places of the beam after a step; greedy search has only one. */
    showBeam(at) {
      const { best } = this.shown;
      const step = best.steps[at];
      this.beam.replaceChildren();
      if (!step || step.places.length === 1) return;
      const rows = step.places.map(({ node, logP, state }) => {
        const ours = best.node.way.includes(node);
        const ids = node.way.slice(1).map(({ token }) => token);
        const ended2 = ids.at(-1) === END2 ? " </s>" : "";
        return make(
          `li.at-${state}${ours ? ".at-now" : ""}`,
          {},
          make(
            "span",
            { lang: "de" },
            this.translator.tokenizer.decode(ids) + ended2
          ),
          make(
            "span.at-p",
            {},
            [STATES[state], digits(logP, 2)].filter(Boolean).join(" ")
          )
        );
      });
      this.beam.append(
        make("p.at-title", {}, say("The beam now, with log-probabilities")),
        make("ol.at-beam", {}, ...rows)
      );
      if (step.finished.length === 0) return;
      const ended = step.finished.map(({ tokens, score }) => {
        const text = this.translator.tokenizer.decode(tokens) || "</s>";
        return say("“{}” with the score {}", text, digits(score, 2));
      });
      const closed = step.places.some(({ state }) => state === "closed");
      const all = ended.join(say("; "));
      const kept = say(
        "What is finished keeps its place in the beam until the search ends."
      );
      const taken = closed && say("Closed: its place is taken in this way.");
      const notes = [say("Finished so far: {}.", all), joined(kept, taken)];
      this.beam.append(...notes.map((note) => make("p.at-note", {}, note)));
    }
  };
  var show = (place) => new Widget(place);
  return __toCommonJS(translator_exports);
})();
