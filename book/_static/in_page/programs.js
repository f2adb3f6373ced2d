// Made by make bundle from book/in_page: edit that.
var inPage;
(inPage ||= {}).programs = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __esm = (fn, res, err) => function __init() {
    if (err) throw err[0];
    try {
      return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
    } catch (e) {
      throw err = [e], e;
    }
  };
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

  // arcs.js
  function shape(name, attributes, ...inside) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }
  function arcs(weights, { at, rows, columns, into = false }) {
    const middle = (place, count) => 100 * (place + 0.5) / count;
    const lines2 = Array.from(weights, (weight, j) => {
      const from = middle(into ? j : at, rows);
      const to = middle(into ? at : j, columns);
      return shape("path", {
        d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`,
        style: `--share: ${weight.toFixed(3)}`
      });
    });
    const box = { viewBox: "0 0 100 100", preserveAspectRatio: "none" };
    return shape(
      "svg",
      { ...box, class: "op-arcs", "aria-hidden": true },
      ...lines2
    );
  }
  var SVG;
  var init_arcs = __esm({
    "arcs.js"() {
      SVG = "http://www.w3.org/2000/svg";
    }
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
  function uniform(seed, i) {
    let x = seed + Math.imul(i + 1, 1831565813) | 0;
    x = Math.imul(x ^ x >>> 15, x | 1);
    x ^= x + Math.imul(x ^ x >>> 7, x | 61);
    return ((x ^ x >>> 14) >>> 0) / 2 ** 32;
  }
  var angle, wave;
  var init_arithmetic = __esm({
    "arithmetic.js"() {
      angle = (position, i, width) => position / 1e4 ** ((i - i % 2) / width);
      wave = (position, i, width) => (i % 2 ? Math.cos : Math.sin)(angle(position, i, width));
    }
  });

  // elements.js
  function make(tag, given = {}, ...inside) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name || "div");
    element.classList.add(...classes);
    if (name === "button") element.setAttribute("type", name);
    for (const [key, value] of Object.entries(given))
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }
  function field(given, text = "") {
    const keydown = (event) => event.key === "Enter" && event.preventDefault();
    const limits = { rows: 1, maxlength: 120, spellcheck: "false" };
    return make("textarea", { ...limits, lang: "en", keydown, ...given }, text);
  }
  function chips(tag, pieces, given = () => ({})) {
    return pieces.flatMap((piece, i) => {
      const text = piece.replaceAll(SPACE, "") || "␣";
      const begins = piece.startsWith(SPACE) || piece.startsWith("<");
      return [begins && i ? " " : "", make(tag, given(piece, i), text)];
    });
  }
  function oneStop(place) {
    const all = () => [...place.querySelectorAll("button, input")];
    const stop = (one) => all().forEach((x) => x.tabIndex = x === one ? 0 : -1);
    const middle = (one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return [(left + right) / 2, (top + bottom) / 2];
    };
    place.addEventListener("keydown", (event) => {
      const [right, down] = WAYS[event.key] ?? [];
      if (right === void 0 || event.altKey || event.ctrlKey || event.metaKey)
        return;
      event.preventDefault();
      event.stopPropagation();
      const [x, y] = middle(event.target);
      const [next] = all().map((one) => {
        const [dx, dy] = [middle(one)[0] - x, middle(one)[1] - y];
        const along = dx * right + dy * down;
        const aside = Math.abs(dx * down) + Math.abs(dy * right);
        return { one, along, aside, far: along + 2 * aside };
      }).filter(({ along, aside }) => along > 1 && aside <= along).sort((a, b) => a.far - b.far);
      next?.one.focus();
    });
    place.addEventListener("focusin", ({ target }) => stop(target));
    new MutationObserver(() => {
      const now = place.querySelector(":focus, [aria-pressed=true]");
      stop(now ?? all()[0]);
    }).observe(place, { childList: true, subtree: true });
    return place;
  }
  var SPACE, example, rest, listed, joined, share, digits, chance, named, WAYS;
  var init_elements = __esm({
    "elements.js"() {
      SPACE = "▁";
      example = (name, text, click) => make(
        "button.at-quiet",
        { "aria-label": say("Example: {}", text), click },
        say(name)
      );
      rest = (ms = 0) => new Promise((done) => setTimeout(done, ms));
      listed = (words, type = "conjunction") => new Intl.ListFormat(document.documentElement.lang, { type }).format(words);
      joined = (...sentences2) => sentences2.filter(Boolean).reduce((all, one) => say("{} {}", all, one));
      share = (weight) => ({ style: `--share: ${weight.toFixed(3)}` });
      digits = (x, count) => x.toFixed(count).replace(/^-(?=[0.]+$)/, "").replace("-", "−");
      chance = (p) => p < 5e-4 ? "< 0.001" : p.toFixed(3);
      named = (piece) => piece.startsWith(SPACE) ? [make("span.at-space", {}, SPACE), piece.slice(1)] : [piece];
      WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0] };
      Object.assign(WAYS, { ArrowDown: [0, 1], ArrowUp: [0, -1] });
    }
  });

  // attention.js
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
        make("span.visually-hidden", {}, text)
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
    const list2 = (x) => x.map((value) => digits(value, 2)).join(" ");
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
      make("p.at-numbers", {}, `q = ${list2(q)}`),
      make("p.at-numbers", {}, `k = ${list2(k)}`)
    ];
  }
  var LINE, AttentionView;
  var init_attention = __esm({
    "attention.js"() {
      init_arithmetic();
      init_elements();
      LINE = "01_attention.html#export-attention_weights";
      AttentionView = class {
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
              "aria-pressed": String(i === at),
              click: () => choose(i)
            }
          });
          const tag = choose ? "button.at-chip" : "span.at-chip";
          this.seen.lang = map.lang;
          this.seen.replaceChildren(...chips(tag, looks, shaded));
          const [first, second] = largest(weights, 2);
          const looked = (i) => {
            const click = () => this.explain(weights, i, rows[at], columns[i]);
            const number = weights[i].toFixed(2);
            const given = { title: say("How it was made"), click };
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
    }
  });

  // strips.js
  function bytes(name) {
    const style = getComputedStyle(document.documentElement);
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
  }
  function limitOf(rows) {
    const sizes = rows.flatMap((row) => Array.from(row, Math.abs));
    sizes.sort((a, b) => a - b);
    return sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
  }
  function paint(canvas, rows, { room = rows.length, wide, limit } = {}) {
    const width = wide ?? Math.max(...rows.map((row) => row.length));
    const most = limit ?? limitOf(rows);
    Object.assign(canvas, { width, height: room });
    const context = (
      /** @type {CanvasRenderingContext2D} */
      canvas.getContext("2d")
    );
    const image = context.createImageData(width, room);
    const [minus, plus2] = ["--blue", "--bright-orange"].map(bytes);
    rows.forEach((row, y) => {
      for (let x = 0; x < row.length; x++) {
        const strength = Math.min(1, Math.abs(row[x]) / most);
        const place = 4 * (y * width + x);
        image.data.set(row[x] < 0 ? minus : plus2, place);
        image.data[place + 3] = 255 * strength ** 0.8;
      }
    });
    context.putImageData(image, 0, 0);
    return canvas;
  }
  function paintMap(canvas, rows, room, wide) {
    const signed = rows.map((row) => Array.from(row, (weight) => -weight));
    return paint(canvas, signed, { room, wide, limit: 1 });
  }
  function strip({ title, side, pieces, rows, across = "d_model" }) {
    const [low, high] = [Math.min, Math.max].map(
      (f) => digits(f(...rows.map((row) => f(...row))), 1)
    );
    const size = rows[0].length;
    const count = rows.length;
    const said = say(
      "{}: {} subwords by {} numbers, from {} to {}",
      ...[title, count, size, low, high]
    );
    const subwords = count === 1 ? say("1 subword") : say("{} subwords", count);
    const canvas = make("canvas", { role: "img", "aria-label": said });
    const lit = rowsOf(side, count, across);
    return make(
      "figure.op-strip",
      {},
      make(
        "figcaption",
        {},
        `${title} `,
        make(
          "span.op-shape",
          {},
          axis(side, subwords),
          " × ",
          axis(across, size)
        )
      ),
      labels(side, pieces),
      make(".op-canvas.op-rows", lit, paint(canvas, rows))
    );
  }
  var labels, rowsOf, axis;
  var init_strips = __esm({
    "strips.js"() {
      init_elements();
      labels = (side, pieces) => make(
        ".op-labels",
        { "aria-hidden": "true" },
        ...pieces.map(
          (piece, i) => make(
            "span.op-word",
            { "data-side": side, "data-place": i },
            piece.replaceAll("▁", "")
          )
        )
      );
      rowsOf = (side, count, across) => ({
        style: `--rows: ${count}`,
        ...{ "data-of": side, "data-down": side, "data-across": across }
      });
      axis = (name, text) => make("span.op-axis", { "data-axis": name }, text);
    }
  });

  // heads.js
  function placeOf(name) {
    const [side, , layer, part] = name.split(".");
    const stack2 = part === "cross_attention" ? "cross" : side;
    return [...STACKS[stack2], Number(layer) + 1];
  }
  function titleOf(name) {
    const [stack2, , layer] = placeOf(name);
    return say("{}, layer {}", stack2, layer);
  }
  function nameOf({ name, head }) {
    const [, stack2, layer] = placeOf(name);
    return `${stack2} ${layer}.${head + 1}`;
  }
  function thumbnail(view, place) {
    const [queries, keys] = sidesOf(place.name);
    const rows = mapOf(view.seen, place);
    const [room, wide] = [view.room[queries], view.room[keys]];
    const canvas = paintMap(make("canvas", {}), rows, room, wide);
    const box = make(".op-thumb.op-rows", rowsOf(queries, room, keys), canvas);
    box.light = ({ side, place: at = -1 } = {}) => {
      box.querySelector("svg")?.remove();
      const into = side !== queries && side === keys;
      const column = into && rows.map((row) => row[at] ?? 0);
      const weights = side === queries ? rows[at] : column;
      box.classList.toggle("op-lines", Boolean(weights));
      const places = { at, rows: room, columns: wide, into };
      if (weights) box.append(arcs(weights, places));
    };
    return box;
  }
  var STACKS, sidesOf, attentions, mapOf, HeadGrid;
  var init_heads = __esm({
    "heads.js"() {
      init_arcs();
      init_elements();
      init_strips();
      STACKS = {
        encoder: [say("Encoder"), say("encoder")],
        decoder: [say("Decoder"), say("decoder")],
        cross: [say("Cross"), say("cross")]
      };
      sidesOf = (name) => [
        name.startsWith("encoder") ? "source" : "target",
        /encoder|cross/.test(name) ? "source" : "target"
      ];
      attentions = (layers) => [
        ["encoder", "self_attention"],
        ["decoder", "self_attention"],
        ["decoder", "cross_attention"]
      ].flatMap(
        ([side, part]) => [...Array(layers).keys()].map((l) => `${side}.layers.${l}.${part}`)
      );
      mapOf = (seen, { name, head }) => seen[`${name}.weights`].map((heads) => heads[head]);
      HeadGrid = class {
        /** @param {(place: Head) => void} open called by a click */
        constructor(open) {
          this.open = open;
          this.thumbs = [];
          this.element = oneStop(make(".op-grid", {}));
        }
        draw(view) {
          this.thumbs = [];
          const columns = attentions(view.layers).map((name) => {
            const buttons = Array.from({ length: view.heads }, (_, head) => {
              const thumb = thumbnail(view, { name, head });
              this.thumbs.push(thumb);
              const label = nameOf({ name, head });
              const off = view.silent({ name, head });
              return make(
                off ? "button.op-head.op-off" : "button.op-head",
                {
                  "aria-label": off ? say("{}, changed: open", label) : say("{}: open", label),
                  title: label,
                  click: () => this.open({ name, head })
                },
                thumb
              );
            });
            const [stack2, , number] = placeOf(name);
            const layer = say("layer {}", number);
            const title = make("p.op-small", {}, stack2, make("br"), layer);
            return make(".op-column", {}, title, ...buttons);
          });
          this.element.replaceChildren(...columns);
        }
        /** Draw the lines of the word that is pointed at: {side, place}. */
        light(word) {
          for (const thumb of this.thumbs) thumb.light(word);
        }
      };
    }
  });

  // boxes.js
  function origin(box, view) {
    const { kind, part } = box;
    const [name, formula] = KINDS[kind];
    const { href, code } = view.cells[name];
    const own = sideOf(box);
    const keys = part === "cross_attention" ? "source" : own;
    const same = { length: own, queries: own, keys };
    const withAxes = (text, marked) => text.split(marked).map((part2, i) => {
      const [name2, said = name2] = part2.split("|");
      return i % 2 ? axis(same[name2] ?? name2, said) : part2;
    });
    const words = /\b(length|queries|keys|d_model|d_ff|d_k|heads)\b/;
    return [
      make("p.op-formula", {}, ...withAxes(formula, /\{(\w+\|[^}]+)\}/)),
      make(
        "details.op-code",
        {},
        make("summary", {}, say("The code")),
        make("pre", { tabindex: 0 }, make("code", {}, ...withAxes(code, words)))
      ),
      make("p.op-cell", {}, ...phrase("Made by {}", make("a", { href }, name)))
    ];
  }
  function activation(view, title, name, across) {
    const side = /^(encoder|source)/.test(name) ? "source" : "target";
    const pieces = view.pieces[side];
    return strip({ title, side, pieces, rows: view.seen[name], across });
  }
  function bars(view, length, said) {
    const items = view.ranked.map(
      (one, i) => make(
        i ? "li" : "li.at-now",
        share(length(one)),
        make("span", { lang: "de" }, ...named(one.piece)),
        make("span.at-p", {}, said(one))
      )
    );
    return make("ol.at-bars", {}, ...items);
  }
  function mixture({ id, layer, side }, view) {
    if (side !== "encoder" || !id.endsWith("around_feed_forward")) return [];
    const place = view.wordOf("source");
    const row = view.mixed(place)[layer];
    const others = [...row.keys()].filter((i) => i !== place);
    const most = Math.max(...others.map((i) => row[i]));
    const items = others.map(
      (i) => make(
        "li.op-word",
        { "data-side": "source", "data-place": i, ...share(row[i] / most) },
        make("span", {}, plain(view.pieces.source[i])),
        make("span.at-p", {}, percent(row[i]))
      )
    );
    const word = plain(view.pieces.source[place]);
    return [
      make(
        "p.op-small",
        {},
        ...phrase(
          "What has been mixed into {}? This is how far its vector moves, as a share of its length, if another word’s embedding is set to zero:",
          make("em", {}, word)
        )
      ),
      make("ol.at-bars.op-mixed", {}, ...items)
    ];
  }
  function enlarged(view, place, act) {
    const { name, head } = place;
    const [queries, keys] = sidesOf(name);
    const [rows, columns] = [view.pieces[queries], view.pieces[keys]];
    const weights = mapOf(view.seen, place);
    const title = nameOf(place);
    const note = make(".at-origin", { role: "status" });
    const explain = (i, j) => note.replaceChildren(
      ...explanation(
        view.seen[`${name}.weights`][i][head],
        j,
        rows[i],
        columns[j]
      )
    );
    const lines2 = make(".op-canvas", {});
    const light = (at) => {
      const size = { at, rows: rows.length, columns: columns.length };
      lines2.replaceChildren(...weights[at] ? [arcs(weights[at], size)] : []);
    };
    light(view.wordOf(queries));
    const big = make(
      ".op-big",
      {},
      labels(queries, rows),
      lines2,
      labels(keys, columns)
    );
    big.light = (word) => word?.side === queries && light(word.place);
    const button = (text, click) => make("button.at-quiet", { click }, text);
    const off = view.silent(place);
    const map = { title, rows, columns, weights, now: -1 };
    const region = { tabindex: 0, role: "region", "aria-label": title };
    return [
      make(
        ".at-row",
        {},
        make("strong", {}, title),
        button(say("all four heads"), () => act.openHead(void 0)),
        button(
          off ? say("restore this head") : say("silence this head"),
          () => act.silence(place)
        )
      ),
      big,
      make(
        "p.at-note",
        {},
        say("Each row is a query. Choose a cell to see how its number was made.")
      ),
      make(".at-map", region, attentionTable(map, explain)),
      note
    ];
  }
  function placeOf2(box) {
    const { title, layer, kind } = box;
    const side = SIDES[box.side];
    if (layer !== void 0)
      return say("{}, {} layer {}", title, side, layer + 1);
    const single = /logits|softmax|memory/.test(kind);
    return single ? title : say("{}, {}", title, side);
  }
  function contents(box, view, act) {
    const [formula, code, cell] = origin(box, view);
    const title = make("p.op-title", {}, placeOf2(box));
    const shown = SHOWN[box.kind](box, view, act);
    return [title, cell, formula, ...shown, code];
  }
  var percent, sideOf, plain, SIDES, KINDS, SHOWN, openedSay;
  var init_boxes = __esm({
    "boxes.js"() {
      init_arcs();
      init_arithmetic();
      init_attention();
      init_elements();
      init_heads();
      init_strips();
      percent = (x) => `${Math.round(100 * x)}%`;
      sideOf = ({ side }) => side === "encoder" ? "source" : "target";
      plain = (piece) => piece.replaceAll("▁", "") || say("a blank");
      SIDES = { encoder: say("encoder"), decoder: say("decoder") };
      KINDS = {
        embedding: ["TokenEmbedding", say("row of the table × √{d_model|64}")],
        positions: ["SinusoidalPositions", say("word + wave of its place")],
        norm: ["AddNorm", say("(x − mean) / deviation, over {d_model|64} numbers")],
        attention: [
          "MultiHeadAttention",
          say(
            "softmax({queries|Q} {keys|K}ᵀ / √{d_k|16}) {keys|V}, in {heads|4} heads"
          )
        ],
        add: ["AddNorm", "x + Sublayer(Norm(x))"],
        feedForward: ["FeedForward", "max(0, x {d_ff|W₁} + b₁) {d_model|W₂} + b₂"],
        memory: ["Encoder", say("Norm(x), read by every decoder layer")],
        logits: ["EncoderDecoder", say("x · every row of the {vocab|1,280}")],
        softmax: ["greedy_decode", say("e to the power of a logit, over the sum")]
      };
      SHOWN = {
        embedding: (box, view) => [
          activation(view, say("What leaves it"), box.id),
          make(
            "p.at-note",
            {},
            say("Numbers of the rows: {}", view.ids[sideOf(box)].join(", "))
          )
        ],
        positions: (box, view) => [
          activation(view, say("Words"), box.reads),
          activation(view, say("+ waves of their places"), box.adds),
          activation(view, say("= what the first layer reads"), box.id)
        ],
        norm: (box, view) => [
          activation(view, say("What comes in"), box.reads),
          activation(view, say("What leaves it"), box.id)
        ],
        add: (box, view) => [
          ...mixture(box, view),
          activation(view, say("What came in"), box.reads),
          activation(view, say("+ what the box below has written"), box.adds),
          activation(view, say("= the sum, which goes on"), box.id),
          ...box.norm ? [
            activation(
              view,
              say("After the norm: what the next box reads"),
              box.norm
            )
          ] : []
        ],
        feedForward: (box, view, act) => {
          const hidden = `${box.id}.hidden`;
          const side = sideOf(box);
          const place = view.wordOf(side);
          const row = view.seen[hidden][place];
          const on = row.filter((x) => x > 0).length;
          const button = (unit) => {
            const off = view.silentUnit(box.id, unit);
            const click = () => act.silenceUnit(box.id, unit);
            const label = off ? say("Restore unit {}", unit + 1) : say("Silence unit {}", unit + 1);
            return make(
              "li",
              share(row[unit] / row[largest(row, 1)[0]] || 0),
              make("span", {}, say("unit {}", unit + 1)),
              make("span.at-p", {}, digits(row[unit], 2)),
              make(
                "button.at-quiet",
                {
                  click,
                  "aria-label": label
                },
                off ? say("restore") : say("silence")
              )
            );
          };
          const silent = [...row.keys()].filter(
            (unit) => view.silentUnit(box.id, unit)
          );
          return [
            activation(view, say("What comes in"), box.reads),
            activation(view, say("128 units, none below zero"), hidden, "d_ff"),
            make(
              "p.op-small",
              {},
              say(
                "For {}, {} of {} units are above zero; the largest:",
                ...[plain(view.pieces[side][place]), on, row.length]
              )
            ),
            make("ol.at-bars", {}, ...[...silent, ...largest(row, 5)].map(button)),
            activation(view, say("What leaves it"), box.id)
          ];
        },
        attention: (box, view, act) => {
          if (view.head?.name === box.id) return enlarged(view, view.head, act);
          const [queries] = sidesOf(box.id);
          const at = view.wordOf(queries);
          const heads = Array.from({ length: view.heads }, (_, head) => {
            const place = { name: box.id, head };
            const thumb = thumbnail(view, place);
            thumb.light({ side: queries, place: at });
            const row = mapOf(view.seen, place)[at];
            const [first] = largest(row, 1);
            const [, keys] = sidesOf(box.id);
            const said = `${plain(view.pieces[queries][at])} → ${plain(view.pieces[keys][first])} ${row[first].toFixed(2)}`;
            return make(
              view.silent(place) ? "button.op-head.op-off" : "button.op-head",
              { click: () => act.openHead(place) },
              make("span", {}, nameOf(place)),
              thumb,
              make("span.op-small", {}, said)
            );
          });
          return [
            activation(view, say("What comes in"), box.reads),
            make(".op-four", {}, ...heads),
            activation(
              view,
              say("What the four heads found, side by side"),
              `${box.id}.heads`
            ),
            activation(view, say("What leaves it, after the output matrix"), box.id)
          ];
        },
        memory: (box, view) => [
          activation(view, say("What comes in"), box.reads),
          activation(view, say("The memory"), box.id)
        ],
        logits: (box, view) => [
          activation(view, say("What comes in; only the last row counts"), box.reads),
          bars(
            view,
            ({ logit }) => Math.max(0, logit / view.ranked[0].logit),
            ({ logit }) => digits(logit, 1)
          )
        ],
        softmax: (box, view) => [
          bars(
            view,
            ({ p }) => p,
            ({ p }) => chance(p)
          )
        ]
      };
      openedSay = (box) => say("You have opened *{}*. The button goes on with the walk.", placeOf2(box));
    }
  });

  // changes.js
  var changes_exports = {};
  __export(changes_exports, {
    feedForwardOff: () => feedForwardOff,
    maskOff: () => maskOff,
    normOff: () => normOff,
    patch: () => patch,
    positionsOff: () => positionsOff,
    residualOff: () => residualOff,
    scaleOff: () => scaleOff,
    silence: () => silence,
    silenceUnit: () => silenceUnit,
    temperature: () => temperature
  });
  var replaced, partOf, silence, patch, silenceUnit, maskOff, positionsOff, scaleOff, residualOff, normOff, feedForwardOff, temperature;
  var init_changes = __esm({
    "changes.js"() {
      replaced = (x, begin, part) => {
        const y = x.slice();
        y.set(part, begin);
        return y;
      };
      partOf = (x, head, heads) => {
        const width = x.length / heads;
        return [head * width, (head + 1) * width];
      };
      silence = (name, head, heads) => ({
        id: `silence ${name} ${head}`,
        touches: (touched) => touched === `${name}.heads`,
        apply: (values) => values.map((x) => {
          const [begin, end] = partOf(x, head, heads);
          return x.slice().fill(0, begin, end);
        })
      });
      patch = (name, head, heads, donor) => ({
        id: `patch ${name} ${head}`,
        donor,
        touches: (touched) => touched === `${name}.heads`,
        apply: (values, places, donated) => values.map((x, i) => {
          const other = donated[places[i].position ?? places[i]];
          const [begin, end] = partOf(x, head, heads);
          return other ? replaced(x, begin, other.slice(begin, end)) : x;
        })
      });
      silenceUnit = (name, unit) => ({
        id: `unit ${name} ${unit}`,
        touches: (touched) => touched === `${name}.hidden`,
        apply: (values) => values.map((x) => replaced(x, unit, [0]))
      });
      maskOff = () => ({
        id: "mask",
        touches: (name) => name === "decoder.mask",
        apply: (ways) => ways.map(() => ways.at(-1))
      });
      positionsOff = () => ({
        id: "positions",
        touches: (name) => name.endsWith(".positions.table"),
        apply: (waves) => waves.map((x) => x.map(() => 0))
      });
      scaleOff = (width) => ({
        id: "scale",
        touches: (name) => name.endsWith(".scores"),
        apply: (values) => values.map((heads) => heads.map((row) => row.map((s) => s * width ** 0.5)))
      });
      residualOff = () => ({
        id: "residual",
        touches: (name) => /\.around_\w+$/.test(name),
        apply: (_, __, written) => written
      });
      normOff = () => ({
        id: "norm",
        touches: (name) => name.endsWith(".norm"),
        apply: (_, __, given) => given
      });
      feedForwardOff = () => ({
        id: "feed-forward",
        touches: (name) => name.endsWith(".feed_forward"),
        apply: (values) => values.map((x) => x.map(() => 0))
      });
      temperature = (degree) => ({
        id: "temperature",
        touches: (name) => name === "logits",
        apply: (logits) => logits.map((x) => x.map((logit) => logit / degree))
      });
    }
  });

  // change_form.js
  function silentUnit(name, unit) {
    const change = silenceUnit(name, unit);
    const label = say("{}, unit {} is silent", titleOf(name), unit + 1);
    return { ...change, label, name, unit };
  }
  var HUNGRY, switchOn, ChangeForm;
  var init_change_form = __esm({
    "change_form.js"() {
      init_changes();
      init_elements();
      init_heads();
      HUNGRY = "The dog ate the soup because it was hungry.";
      switchOn = (given) => make("input", { type: "checkbox", checked: true, ...given });
      ChangeForm = class {
        /**
         * @param {Sizes & {d_k: number, donor: string}} sizes
         * @param {(text: string) => [boolean, string]} doubts whether a sentence
         *   can be read, and what speaks against it
         * @param {(change: Change | undefined, id: string) => void} set puts a
         *   change in, or takes the one with this id out
         * @param {(change: Change, needs: string, why: string) => void} leaveOut
         *   puts a change in, with a sentence that needs what it leaves out, and
         *   why another may not
         * @param {(place: Head) => number} without how likely what is written stays
         *   if a head is silent
         */
        constructor(sizes, doubts, set, leaveOut, without) {
          this.sizes = sizes;
          this.doubts = doubts;
          this.set = set;
          this.leaveOut = leaveOut;
          this.without = without;
          this.active = /* @__PURE__ */ new Map();
          this.switches = /* @__PURE__ */ new Map();
          this.alls = /* @__PURE__ */ new Map();
          this.element = make(".op-changes", {});
        }
        /**
         * Show what is in force.
         * @param {Map<string, Change>} active
         */
        draw(active) {
          this.active = active;
          if (!this.switches.size) this.build();
          for (const [id, box] of this.switches) box.checked = !active.has(id);
          for (const [name, box] of this.alls)
            box.checked = this.silences(name).every(({ id }) => !active.has(id));
          const items = [...active.values()].map(({ id, label }) => {
            const click = () => {
              this.set(void 0, id);
              this.table.querySelector("input").focus();
            };
            const undo = say("Undo: {}", label);
            const given = { click, "aria-label": undo };
            return make(
              "li",
              {},
              `${label} `,
              make("button.at-quiet", given, say("undo"))
            );
          });
          this.list.replaceChildren(...items);
          this.none.hidden = items.length > 0;
          this.undo.hidden = items.length < 2;
          this.degree.value = active.get("temperature")?.degree ?? 1;
          this.said.textContent = Number(this.degree.value).toFixed(1);
        }
        /** The changes that silence one head each, of all attentions. */
        get everySilence() {
          const names = attentions(this.sizes.layers);
          return names.flatMap((name) => this.silences(name));
        }
        /** The change that silences each head of an attention. */
        silences(name) {
          const { heads } = this.sizes;
          return Array.from({ length: heads }, (_, head) => ({
            ...silence(name, head, heads),
            label: say("{} is silent", nameOf({ name, head })),
            name,
            head
          }));
        }
        build() {
          this.list = make("ul.op-list", {});
          this.none = make("p.at-note", {}, say("Nothing is changed."));
          const clear = () => {
            for (const id of [...this.active.keys()]) this.set(void 0, id);
          };
          this.undo = make("button.at-quiet", { click: clear }, say("undo all"));
          this.element.replaceChildren(
            this.headSwitches(),
            this.rest(),
            this.patching(),
            // last, where what comes and goes moves nothing
            make(".op-active", {}, this.none, this.list, this.undo)
          );
        }
        /** A switch for each head, and one for all of an attention. */
        headSwitches() {
          const rows = attentions(this.sizes.layers).map((name) => {
            const all = this.silences(name);
            const cells = all.map((change) => {
              const { id } = change;
              const label2 = nameOf(change);
              const box = switchOn({
                "aria-label": label2,
                change: () => this.set(box.checked ? void 0 : change, id)
              });
              this.switches.set(id, box);
              return make("td", { "data-id": id }, make("label", {}, box));
            });
            const label = say("{}, all heads", titleOf(name));
            const whole = switchOn({
              "aria-label": label,
              change: () => {
                for (const change of all)
                  this.set(whole.checked ? void 0 : change, change.id);
              }
            });
            this.alls.set(name, whole);
            const title = make("th", { scope: "row" }, titleOf(name));
            return make(
              "tr",
              {},
              title,
              ...cells,
              make("td", {}, make("label", {}, whole))
            );
          });
          const columns = ["", "1", "2", "3", "4", say("all")].map(
            (text2) => make(text2 ? "th" : "td", text2 ? { scope: "col" } : {}, text2)
          );
          this.table = make(
            "table.op-switches",
            {},
            make("caption", {}, say("Heads: clear a box to silence one")),
            make("thead", {}, make("tr", {}, ...columns)),
            make("tbody", {}, ...rows)
          );
          const click = () => {
            for (const change of this.everySilence) {
              const p = this.without(change);
              const cell = this.switches.get(change.id).closest("td");
              cell.querySelector("span")?.remove();
              cell.append(make("span.op-p", share(p), p.toFixed(2)));
            }
          };
          const text = say(
            "Try each head: how likely is the next subword without it?"
          );
          const button = make("button.at-quiet", { click }, text);
          return make("section", {}, oneStop(this.table), button);
        }
        /** Forget what was tried: the sentence or the model is another. */
        forget() {
          for (const old of this.table?.querySelectorAll(".op-p") ?? []) old.remove();
        }
        /** A head's output from another sentence. */
        patching() {
          const places = this.everySilence;
          const donor = field({ id: "op-donor" }, this.sizes.donor);
          const warning = make("p.op-warning", { role: "status" });
          const head = make(
            "select",
            { "aria-label": say("Head to be patched") },
            ...places.map((place, i) => make("option", { value: i }, nameOf(place)))
          );
          head.value = places.findIndex(
            ({ name, head: head2 }) => name === this.sizes.decides.name && head2 === this.sizes.decides.head
          );
          const click = () => {
            const { name, head: number } = places[head.value];
            const from = donor.value.trim();
            const [readable, said] = this.doubts(from);
            warning.textContent = said;
            if (!readable) {
              donor.focus();
              return;
            }
            const change = patch(name, number, this.sizes.heads, from);
            const which = nameOf(places[head.value]);
            const label = say("{} is patched from “{}”", which, from);
            this.set({ ...change, label, name, head: number }, change.id);
          };
          return make(
            "section",
            {},
            make(
              "label.at-title",
              { for: "op-donor" },
              say("Patch a head: give it what it finds in another sentence")
            ),
            donor,
            warning,
            make(".at-row", {}, head, make("button.op-do", { click }, say("Patch")))
          );
        }
        /** Parts of the model, and the temperature; units are in their boxes. */
        rest() {
          const { d_k } = this.sizes;
          const kinds = [
            [
              say("the mask"),
              maskOff(),
              "The kid wakes up in the shop.",
              say(
                "in training the mask hides the answer; a decoder that writes subword by subword has nothing after the last one to look at"
              )
            ],
            [
              say("positions"),
              positionsOff(),
              "The dog bit the man.",
              say("its words fit together in one order alone")
            ],
            [
              say("division by √{}", d_k),
              scaleOff(d_k),
              "While she is hungry, the doctor eats carrots.",
              say(
                "larger scores only make a head surer, and here it was sure of the right word"
              )
            ]
          ];
          const suffices = say("what is left suffices");
          kinds.push(
            [say("residual"), residualOff(), HUNGRY, suffices],
            [say("norm"), normOff(), HUNGRY, suffices],
            [say("feed-forward"), feedForwardOff(), HUNGRY, suffices]
          );
          const parts = kinds.map(([title, change, needs, why]) => {
            const part = `${title[0].toUpperCase()}${title.slice(1)}`;
            const label = say("{}: left out", part);
            const box = switchOn({
              change: () => box.checked ? this.set(void 0, change.id) : this.leaveOut({ ...change, label }, needs, why)
            });
            this.switches.set(change.id, box);
            return make("label", {}, box, title);
          });
          this.said = make("span", {});
          this.degree = make("input", {
            type: "range",
            id: "op-temperature",
            ...{ min: 0.2, max: 5, step: 0.1, value: 1 },
            input: () => {
              const degree = Number(this.degree.value);
              const label = say("The temperature is {}", degree.toFixed(1));
              const change = { ...temperature(degree), label, degree };
              this.set(degree === 1 ? void 0 : change, change.id);
            }
          });
          return make(
            "section",
            {},
            make("p.at-title", {}, say("Parts: clear a box to leave one out")),
            make(".at-row", {}, ...parts),
            make(
              ".at-row",
              {},
              make("label", { for: "op-temperature" }, say("Temperature")),
              this.degree,
              this.said
            )
          );
        }
      };
    }
  });

  // layout.js
  function stack(side, layers) {
    const encoder = side === "encoder";
    const input = encoder ? "source" : "target";
    const boxes = [];
    const none = { x: 0, y: 0, width: 0, height: 0 };
    const add = (id, kind, title, more) => boxes.push({ id, kind, title, side, ...none, ...more });
    add(`${input}.tokens`, "embedding", say("Embedding"), { big: true });
    const wave2 = { reads: `${input}.tokens`, adds: `${input}.positions.table` };
    add(input, "positions", say("Positions"), wave2);
    const attentions2 = encoder ? [["around_attention", "self_attention", say("Self-attention")]] : [
      ["around_self", "self_attention", say("Masked attention")],
      ["around_cross", "cross_attention", say("Cross-attention")]
    ];
    const sublayers = [
      ...attentions2,
      ["around_feed_forward", "feed_forward", say("Feed-forward")]
    ];
    const order = [...Array(layers).keys()].flatMap(
      (layer) => sublayers.map(([around, part, title]) => ({
        layer,
        part,
        title,
        name: `${side}.layers.${layer}.${around}`
      }))
    );
    add(`${order[0].name}.norm`, "norm", say("Norm"), { layer: 0, reads: input });
    let before = input;
    order.forEach(({ layer, part, title, name }, i) => {
      const id = `${side}.layers.${layer}.${part}`;
      const kind = part === "feed_forward" ? "feedForward" : "attention";
      const reads = `${name}.norm`;
      add(id, kind, title, { layer, reads, part, big: true });
      const next = order[i + 1];
      const norm = next && `${next.name}.norm`;
      const sum = { layer, reads: before, adds: id, norm };
      add(name, "add", norm ? say("Add & Norm") : say("Add"), sum);
      before = name;
    });
    if (encoder)
      add("encoder.norm", "memory", say("Memory"), { big: true, reads: before });
    else {
      add("decoder.norm", "norm", say("Norm"), { reads: before });
      add("logits", "logits", "Logits", { big: true, reads: "decoder.norm" });
      add("softmax", "softmax", "Softmax", { big: true, reads: "logits" });
    }
    return boxes;
  }
  function layout(width, layers, room) {
    const placed = (big) => arranged(width, layers, big, SMALL[room === Infinity ? 1 : 0]);
    const [least, most] = BIG;
    const count = stack("decoder", layers).filter(({ big }) => big).length;
    const spare = Math.floor((room - placed(least).height) / count);
    return placed(Math.max(least, Math.min(most, least + spare)));
  }
  function arranged(width, layers, big, small) {
    const between2 = Math.max(24, 0.1 * width);
    const column = (width - between2) / 2;
    const boxes = [];
    const frames = [];
    const wires = [];
    let top = 0;
    const stacks = [
      ["encoder", 0],
      ["decoder", column + between2]
    ];
    for (const [side, left] of stacks) {
      const encoder = side === "encoder";
      const rail = encoder ? left + RAIL / 2 + 2 : left + column - RAIL / 2 - 2;
      const x = encoder ? left + RAIL + 5 : left + 5;
      const wide = column - RAIL - 10;
      let y = 0;
      let frame;
      let last;
      const ends = {};
      for (const box of stack(side, layers)) {
        if (frame && box.layer !== frame.layer) {
          frame.y = y -= HEAD;
          y -= GAP + 2;
          frame = void 0;
        }
        if (box.layer !== void 0 && !frame) {
          y -= GAP;
          frame = { layer: box.layer, side, x: left, width: column, bottom: y };
          frames.push(frame);
          y -= 2;
        }
        const height = box.big ? big : small;
        y -= height + GAP;
        Object.assign(box, { x, y, width: wide, height });
        const middle = x + wide / 2;
        if (last)
          wires.push({
            kind: "up",
            points: [
              [middle, last.y],
              [middle, y + height]
            ]
          });
        ends[box.id] = y + height / 2;
        if (box.kind === "add") {
          const [from, to] = [ends[box.reads], ends[box.id]];
          const edge = encoder ? x : x + wide;
          const points = [
            [edge, from],
            [rail, from],
            [rail, to],
            [edge, to]
          ];
          wires.push({ kind: "residual", points });
        }
        boxes.push(box);
        last = box;
      }
      top = Math.min(top, y);
    }
    for (const part of [...boxes, ...frames]) part.y -= top;
    for (const frame of frames) frame.height = frame.bottom - top - frame.y;
    for (const wire of wires)
      wire.points = wire.points.map(([x, y]) => [x, y - top]);
    const [memory2] = boxes.filter(({ kind }) => kind === "memory");
    for (const box of boxes.filter(({ part }) => part === "cross_attention"))
      for (const [i, kind] of ["keys", "values"].entries()) {
        const edge = memory2.x + memory2.width;
        const from = memory2.y + memory2.height / 2 + 8 * i - 4;
        const to = box.y + box.height / 2 + 8 * i - 4;
        const turn = column + between2 * (0.62 - 0.3 * i);
        const points = [
          [edge, from],
          [turn, from],
          [turn, to],
          [box.x, to]
        ];
        wires.push({ kind, points });
      }
    return { height: FOOT - top, boxes, frames, wires };
  }
  var BIG, SMALL, GAP, HEAD, FOOT, RAIL;
  var init_layout = __esm({
    "layout.js"() {
      BIG = [28, 38];
      SMALL = [20, 24];
      GAP = 4;
      HEAD = 8;
      FOOT = 18;
      RAIL = 11;
    }
  });

  // figure.js
  var OTHERS, Figure;
  var init_figure = __esm({
    "figure.js"() {
      init_arcs();
      init_boxes();
      init_elements();
      init_heads();
      init_layout();
      init_strips();
      OTHERS = 160;
      Figure = class {
        /** @param {(box: Box) => void} open called by a click on a box */
        constructor(open) {
          this.open = open;
          this.width = this.room = 0;
          this.boxes = [];
          this.buttons = [];
          this.element = oneStop(make(".op-figure", {}));
          this.rider = make("span.op-rider", { "aria-hidden": true, hidden: true });
          this.window = make(".op-window", {}, this.element);
        }
        /** How much room there is; of the height, all if only a part is seen. */
        get size() {
          const { overflowY } = getComputedStyle(this.window);
          const room = overflowY === "auto" ? Infinity : innerHeight - OTHERS;
          return { width: this.element.clientWidth, room };
        }
        /** Whether the figure has this size, or is not shown. */
        fits() {
          const { width, room } = this.size;
          return !width || width === this.width && room === this.room;
        }
        /** Draw boxes and wires anew, as large as there is room. */
        place(layers) {
          if (this.fits()) return;
          const { width, room } = Object.assign(this, this.size);
          const { height, boxes, frames, wires } = layout(width, layers, room);
          this.boxes = boxes;
          this.element.style.height = `${height}px`;
          const at = ({ x, y, width: width2, height: height2 }) => ({
            style: `left: ${x}px; top: ${y}px; width: ${width2}px; height: ${height2}px`
          });
          const lines2 = wires.map(
            ({ kind, points }) => shape("polyline", { points: points.join(" "), class: `op-${kind}` })
          );
          const size = { width, height, viewBox: `0 0 ${width} ${height}` };
          const svg = shape("svg", { ...size, "aria-hidden": true }, ...lines2);
          const drawn = frames.map(
            (frame) => make(`.op-frame.op-${frame.side}`, at(frame))
          );
          const titles = frames.map(({ side, layer, x, y }) => {
            const title = side === "encoder" ? say("Encoder layer {}", layer + 1) : say("Decoder layer {}", layer + 1);
            return make(
              ".op-layer",
              { style: `left: ${x + 8}px; top: ${y - 7}px` },
              title
            );
          });
          this.buttons = boxes.map((box) => {
            const stack2 = SIDES[box.side];
            const label = box.layer === void 0 ? say("{}, {}: open", box.title, stack2) : say("{}, {}, layer {}: open", box.title, stack2, box.layer + 1);
            const given = {
              "aria-label": label,
              click: () => this.open(box),
              ...at(box)
            };
            const kind = `op-${box.side}.op-is-${box.kind}`;
            const size2 = box.big ? "op-large" : "op-slim";
            return make(`button.op-box.${kind}.${size2}`, given);
          });
          const below = boxes.filter(({ kind }) => kind === "embedding").map((box) => {
            const style = `left: ${box.x}px; top: ${box.y + box.height}px`;
            const english = sideOf(box) === "source";
            const text = english ? say("English") : say("German so far");
            return make("span.op-foot", { style }, text);
          });
          const [memory2] = boxes.filter(({ kind }) => kind === "memory");
          const [blue, orange] = [say("blue"), say("orange")];
          const legend = make(
            "p.op-legend",
            { style: `left: ${memory2.x}px; width: ${memory2.width}px` },
            ...phrase(
              "A row of colour is a word: {} is below zero, {} above. Four small squares are the maps of four heads: the darker, the more weight.",
              make("b", {}, blue),
              make("b", {}, orange)
            )
          );
          const all = [legend, ...drawn, svg, ...titles, ...below];
          this.element.replaceChildren(...all, ...this.buttons, this.rider);
        }
        /** Fill the boxes with the numbers of a view. */
        draw(view, { open, reached }) {
          this.place(view.layers);
          this.boxes.forEach((box, i) => {
            const button = this.buttons[i];
            button.replaceChildren(
              make("span.op-name", {}, box.title),
              this.inside(box, view)
            );
            const pressed = box.id === open;
            button.setAttribute("aria-pressed", String(pressed));
            const changed = view.changed(box.id);
            button.classList.toggle("op-changed", changed);
            button.setAttribute("aria-description", changed ? say("changed") : "");
          });
          this.reach(reached);
        }
        /** Boxes that the sentence has not reached are empty. */
        reach(reached) {
          this.buttons.forEach(
            (button, i) => button.classList.toggle("op-ahead", i > reached)
          );
        }
        /** The word whose row is followed comes to where it is in a box. */
        ride(box, view) {
          this.rider.hidden = !box;
          if (!box) return;
          const side = sideOf(box);
          const at = view.wordOf(side);
          this.rider.textContent = plain(view.pieces[side][at]);
          const button = this.buttons[this.boxes.indexOf(box)];
          const rows = button.querySelector(".op-rows");
          const share2 = rows ? (at + 0.5) / view.room[side] : 0.5;
          const { offsetTop, offsetHeight } = rows ?? button;
          const encoder = box.side === "encoder";
          const left = box.x + (encoder ? box.width : 0);
          const top = (rows ? box.y : 0) + offsetTop + share2 * offsetHeight;
          this.rider.style.translate = encoder ? "0 -50%" : "-100% -50%";
          Object.assign(this.rider.style, { left: `${left}px`, top: `${top}px` });
        }
        /** Where only a part is seen, this box is in its middle. */
        centre({ y, height }) {
          this.window.scrollTop = y + (height - this.window.clientHeight) / 2;
        }
        /** The index of a box in the order in which the sentence passes. */
        indexOf(id) {
          return this.boxes.findIndex((box) => box.id === id);
        }
        /** What a box shows while it is closed. */
        inside(box, view) {
          if (box.kind === "softmax") {
            const [{ piece, p }] = view.ranked;
            const text = `${plain(piece)} ${chance(p)}`;
            return make(".op-answer", share(p), text);
          }
          const side = sideOf(box);
          const room = view.room[side];
          const canvas = () => make("canvas", {});
          if (box.kind === "logits") {
            const row = view.seen.logits.at(-1);
            const sums = Array.from(
              { length: 64 },
              (_, i) => Math.max(...row.slice(20 * i, 20 * i + 20))
            );
            return make(".op-strips", {}, paint(canvas(), [sums]));
          }
          const strip2 = (name) => {
            const across = name.endsWith(".hidden") ? "d_ff" : "d_model";
            const picture = paint(canvas(), view.seen[name], { room });
            return make(".op-rows", rowsOf(side, room, across), picture);
          };
          if (box.kind === "attention") {
            const maps = Array.from({ length: view.heads }, (_, head) => {
              const rows = mapOf(view.seen, { name: box.id, head });
              const off = view.silent({ name: box.id, head });
              const map = paintMap(canvas(), rows, room, view.wide(box.id));
              const lit = rowsOf(side, room, sidesOf(box.id)[1]);
              return make(off ? ".op-rows.op-off" : ".op-rows", lit, map);
            });
            return make(".op-strips.op-maps", {}, ...maps);
          }
          const inner = box.kind === "feedForward" ? [`${box.id}.hidden`] : [];
          return make(".op-strips", {}, ...[...inner, box.id].map(strip2));
        }
      };
    }
  });

  // walk.js
  function look(view, name, head, at) {
    const row = mapOf(view.seen, { name, head })[at];
    const [, keys] = sidesOf(name);
    const [first] = largest(row, 1);
    return [spoken(view.pieces[keys][first]), row[first].toFixed(2), first];
  }
  function surest(view, name, at) {
    const most = Array.from(
      { length: view.heads },
      (_, head) => Math.max(...mapOf(view.seen, { name, head })[at])
    );
    return largest(most, 1)[0];
  }
  function list(words) {
    const each = [...new Set(words)];
    const last = each.pop();
    const others = each.join(say(", "));
    return others ? say("{} and {}", others, last) : last;
  }
  function mixed(view) {
    const [row] = view.mixed(view.focus);
    const others = largest(row, row.length).filter((i) => i !== view.focus);
    return others.slice(0, 2).map((i) => say("{} ({})", spoken(view.pieces.source[i]), percent(row[i])));
  }
  function bet(v, name, chosen) {
    const said = spoken(v.ranked[0].piece);
    const layer = Number(name.split(".")[2]) + 1;
    if (chosen === void 0)
      return say(
        "A bet: one head of the encoder’s layer {} is silenced. Without which of them does {} lose most of its probability?",
        ...[layer, said]
      );
    const { p } = v.ranked[0];
    const now = p.toFixed(2);
    const left = Array.from(
      { length: v.heads },
      (_, head) => v.without({ name, head })
    );
    const [worst] = largest(
      left.map((x) => p - x),
      1
    );
    const [least, own] = [left[worst].toFixed(2), left[chosen].toFixed(2)];
    if (now === least)
      return say(
        "None of them decides: without any one, {} would stay at {}.",
        ...[said, now]
      );
    const nameOf2 = (head) => nameOf({ name, head });
    const looks = [spoken(v.pieces.source[v.focus])];
    looks.push(...look(v, name, chosen, v.focus).slice(0, 2));
    const yours = () => now === own ? say(
      "And without {}, {} would stay at {}, though there {} looks most at {} ({}).",
      ...[nameOf2(chosen), said, now, ...looks]
    ) : say(
      "And without {}, {} would go from {} to {}, though there {} looks most at {} ({}).",
      ...[nameOf2(chosen), said, now, own, ...looks]
    );
    return joined(
      say(
        "Without {}, {} would go from {} to {}.",
        ...[nameOf2(worst), said, now, least]
      ),
      chosen === worst ? say("You have won.") : yours(),
      say("What does a head do, then? Change another, or its sentence.")
    );
  }
  function steps(view) {
    const last = view.layers - 1;
    const enc = (l, part) => `encoder.layers.${l}.${part}`;
    const dec = (l, part) => `decoder.layers.${l}.${part}`;
    const it = (v) => spoken(v.pieces.source[v.focus]);
    const now = (v) => spoken(v.pieces.target.at(-1));
    const said = (v) => spoken(v.ranked[0].piece);
    const each = (v, name, at) => list(Array.from({ length: v.heads }, (_, h) => look(v, name, h, at)[0]));
    return [
      {
        box: "source.tokens",
        short: true,
        say: (v) => say(
          "The sentence becomes {} subwords, the last of which marks the end, and each takes its own row of 64 numbers out of a table.",
          v.pieces.source.length
        )
      },
      {
        box: "source",
        say: (v) => say(
          "A second vector, different at every position, is added. It says where a word stands: {} is number {}. Follow its row.",
          ...[it(v), v.focus + 1]
        )
      },
      {
        box: enc(0, "self_attention"),
        say: (v) => say(
          "Each row is brought to mean 0 and variance 1. Now words look at each other: in the four heads of layer 1, {} looks most at {}.",
          ...[it(v), each(v, enc(0, "self_attention"), v.focus)]
        )
      },
      {
        box: enc(0, "feed_forward"),
        say: (v) => {
          const row = v.seen[`${enc(0, "feed_forward")}.hidden`][v.focus];
          const on = row.filter((x) => x > 0).length;
          return say(
            "What the heads found is added to the row, which is changed a little, not replaced. Then each word passes alone through a network of {} units; for {}, {} of them are above zero.",
            ...[row.length, it(v), on]
          );
        }
      },
      {
        box: enc(0, "around_feed_forward"),
        say: (v) => say(
          "What is in {} after layer 1? If another word’s first vector were zero, that of {} would move, as a share of its length: most for {}.",
          ...[it(v), it(v), list(mixed(v))]
        )
      },
      {
        box: enc(last, "self_attention"),
        head: 0,
        short: true,
        say: (v) => {
          const name = enc(last, "self_attention");
          const [word, weight] = look(v, name, 0, v.focus);
          return say(
            "In {}, head 1 of the encoder’s layer {}, {} looks most at {} ({}).",
            ...[nameOf({ name, head: 0 }), last + 1, it(v), word, weight]
          );
        }
      },
      {
        box: "encoder.norm",
        short: true,
        say: (v) => say(
          "One more norm, and these {} vectors are the memory: all that the German side learns of the English sentence.",
          v.pieces.source.length
        )
      },
      {
        box: dec(0, "self_attention"),
        say: (v) => say(
          "On the right, the German written so far comes in, {} subwords. Each looks at itself and at those before it; the mask hides the rest. The row of the last, {}, has to find the next.",
          ...[v.pieces.target.length, now(v)]
        )
      },
      {
        box: dec(last, "cross_attention"),
        head: view.decides.head,
        short: true,
        say: (v) => {
          const { name, head } = v.decides;
          const [word, weight, place] = look(v, name, head, v.moment);
          const inside = enc(last, "self_attention");
          const own = surest(v, inside, v.focus);
          const [other, share2] = look(v, inside, own, place);
          const before = Number(share2) >= 0.5 && say(
            "In the encoder, {} itself looked at {} ({}), in {}.",
            ...[word, other, share2, nameOf({ name: inside, head: own })]
          );
          const asks = say(
            "Cross-attention: {} asks, and the memory answers. In {} it looks most at {} ({}).",
            ...[now(v), nameOf({ name, head }), word, weight]
          );
          return joined(asks, before);
        }
      },
      {
        box: "logits",
        say: (v) => say(
          "The vector of {} is multiplied by each of the {} rows of the table. The highest score, {}, is that of {}.",
          ...[now(v), v.chances.length.toLocaleString("en")],
          ...[v.ranked[0].logit.toFixed(1), said(v)]
        )
      },
      {
        box: "softmax",
        short: true,
        say: (v) => say(
          "A softmax turns scores into probabilities, and {} gets {}. The likeliest is written, and read on the right like any other word; the memory stays as it was.",
          ...[said(v), v.ranked[0].p.toFixed(4)]
        )
      },
      {
        box: enc(last, "self_attention"),
        bet: true,
        say: (v) => bet(v, enc(last, "self_attention"), v.bet)
      }
    ];
  }
  var SIGNS, rich, spoken;
  var init_walk = __esm({
    "walk.js"() {
      init_arithmetic();
      init_boxes();
      init_elements();
      init_heads();
      SIGNS = {
        ",": say("the comma"),
        ".": say("the full stop"),
        "<s>": say("the start mark"),
        "</s>": say("the end mark")
      };
      rich = (text) => text.split("*").map((part, i) => i % 2 ? make("em", {}, part) : part);
      spoken = (piece) => SIGNS[piece] ?? `*${plain(piece)}*`;
    }
  });

  // film.js
  function lines(view, place, queries) {
    const [from, to] = sidesOf(place.name);
    const weights = mapOf(view.seen, place);
    const [rows, columns] = [view.pieces[from], view.pieces[to]];
    const size = { rows: rows.length, columns: columns.length };
    const all = queries.map((at) => arcs(weights[at], { at, ...size }));
    const between2 = make(".op-canvas", {}, ...all);
    return [labels(from, rows), between2, labels(to, columns)];
  }
  function memory(view) {
    const { source } = view.pieces;
    const picture = paint(make("canvas", {}), view.seen["encoder.norm"]);
    const lit = rowsOf("source", source.length, "d_model");
    const rows = make(".op-canvas.op-rows", lit, picture);
    return [labels("source", source), rows];
  }
  function scenes(view) {
    const { decides, focus, moment, pieces, ranked } = view;
    const last = `encoder.layers.${view.layers - 1}`;
    const own = { name: `${last}.self_attention`, head: 0 };
    const [dog, most] = look(view, own.name, own.head, focus);
    const [word, weight] = look(view, decides.name, decides.head, moment);
    const [{ piece, p }] = ranked;
    const each = [...pieces.source.keys()];
    const shown = [
      {
        box: own.name,
        said: say(
          "The word {} looks at all others, in {} most at {} ({}).",
          ...[spoken(pieces.source[focus]), nameOf(own), dog, most]
        ),
        picture: lines(view, own, [focus])
      },
      {
        box: `${last}.around_feed_forward`,
        said: say(
          "So does every other word, at the same moment and in all heads."
        ),
        picture: lines(view, own, each)
      },
      {
        box: "encoder.norm",
        said: say("The memory is what has become of each word. It is made once."),
        picture: memory(view)
      },
      {
        box: "softmax",
        said: say(
          "Now {} looks into it, in {} most at {} ({}), and {} is written ({}).",
          ...[spoken(pieces.target[moment]), nameOf(decides), word, weight],
          ...[spoken(piece), chance(p)]
        ),
        picture: lines(view, decides, [moment])
      }
    ];
    return shown.map(({ box, said, picture }) => {
      const caption = make("figcaption", {}, ...rich(said));
      const drawn = make(".op-big", { "aria-hidden": true }, ...picture);
      return { box, element: make("figure.op-scene", {}, caption, drawn) };
    });
  }
  var init_film = __esm({
    "film.js"() {
      init_arcs();
      init_elements();
      init_heads();
      init_strips();
      init_walk();
    }
  });

  // model.js
  function fromBase64(text) {
    const characters = atob(text);
    const bytes2 = new Uint8Array(characters.length);
    for (let i = 0; i < bytes2.length; i++) bytes2[i] = characters.charCodeAt(i);
    return bytes2;
  }
  function unpack({ tensors, bytes: bytes2, floats }) {
    const integers = new Int8Array(fromBase64(bytes2).buffer);
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
  function logSoftmax(x) {
    const shift = logSumExp(x);
    for (let i = 0; i < x.length; i++) x[i] -= shift;
    return x;
  }
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
  var NORMS, FEED_FORWARDS, ADDED, TURNED, plus, asItIs, within, Node, Model;
  var init_model = __esm({
    "model.js"() {
      init_arithmetic();
      NORMS = { layer: layerNorm, rms: rmsNorm };
      FEED_FORWARDS = { relu, swiglu };
      ADDED = { sinusoidal: wave, rotary: () => 0 };
      TURNED = { sinusoidal: (x) => x, rotary: rotate };
      plus = (xs, ys) => xs.map((x, i) => x.map((v, j) => v + ys[i][j]));
      asItIs = (_, values) => values;
      within = (tap, name, places) => (part, values, given) => tap(`${name}.${part}`, values, places, given);
      Node = class {
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
      Model = class {
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
            x = this.addNorm(
              own,
              layer,
              "around_feed_forward",
              x,
              (y) => this.feed(own, y, layer.feed_forward)
            );
          });
          const normed = this.norm(x, this.encoderNorm);
          const memory2 = tap("encoder.norm", normed, places, x);
          const sources = this.decoder.map((layer, l) => {
            const own = within(tap, `decoder.layers.${l}`, places);
            const name = "cross_attention";
            return this.keysValues(own, name, memory2, layer.cross_attention);
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
              const found = this.attend(own, name, y, place, seen, part);
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
    }
  });

  // casing.js
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
  var BLANK, LETTER, BEGINNING, BETWEEN, ENDS, CORE, WORD, WORDS, FIRST, large, inCapitals, inTitleCase, asGiven, wordsOf, eachWord, stripped, singleBlanks;
  var init_casing = __esm({
    "casing.js"() {
      BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
      LETTER = "\\p{L}\\p{N}_";
      BEGINNING = new RegExp(`(?<![^${BLANK}])[^${LETTER}]*[${LETTER}]`, "gu");
      BETWEEN = new RegExp(`[^${BLANK}]+`, "gu");
      ENDS = new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "gu");
      CORE = `[${LETTER}](?:[^${BLANK}]*[${LETTER}])?`;
      WORD = new RegExp(CORE, "u");
      WORDS = new RegExp(CORE, "gu");
      FIRST = new RegExp(`[${LETTER}]`, "u");
      large = (text) => text.toUpperCase();
      inCapitals = (text) => large(text.replaceAll("ß", "ẞ"));
      inTitleCase = (text) => text.replace(BEGINNING, large);
      asGiven = (text) => text;
      wordsOf = (text) => [...text.matchAll(BETWEEN)];
      eachWord = (text, change) => text.replace(BETWEEN, change);
      stripped = (text) => text.replace(ENDS, "");
      singleBlanks = (text) => text.replace(new RegExp(`[${BLANK}]+`, "gu"), " ");
    }
  });

  // sentences.js
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
  var CLOSER, EMOJI, END, OPENERS, NUMBERED, ENDING, SHORT, LETTER2, HALF;
  var init_sentences = __esm({
    "sentences.js"() {
      init_casing();
      CLOSER = `["'”’“»«›)\\]]`;
      EMOJI = "(?:[\\u2600-\\u27bf\\u{1f000}-\\u{1faff}]|\\ufe0f|\\u200d)";
      END = new RegExp(
        `(?<![.!?…])(?<![.!?…] )([.!?…](?: ?[.!?…])*(?: ?${CLOSER})*)(?: ?${EMOJI})* |(?<=[a-zß-öø-ÿ])[.!?](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])`,
        "gu"
      );
      OPENERS = /^["'“”„‘‚«»‹›([]+/;
      NUMBERED = ["art", "ch", "fig", "max", "min", "no", "nos", "sec", "vol"];
      ENDING = ["a.m", "etc", "ft", "lb", "oz", "p.m", "usf", "usw"];
      SHORT = /^(\p{Nd}{1,2}|[\p{L}\p{N}_]|([\p{L}\p{Nl}\p{No}]{1,2}\.)+[\p{L}\p{Nl}\p{No}]{1,3})$/u;
      LETTER2 = /[\p{L}\p{N}]/u;
      HALF = /\p{Surrogate}/gu;
    }
  });

  // tokenizer.js
  var BEGIN, END2, SPACE2, RESERVED, UNKNOWN, Tokenizer;
  var init_tokenizer = __esm({
    "tokenizer.js"() {
      BEGIN = 1;
      END2 = 2;
      SPACE2 = "▁";
      RESERVED = 4;
      UNKNOWN = 3;
      Tokenizer = class {
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
    }
  });

  // reading.js
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
  var LETTER3, INVISIBLE, AROUND, PLAIN, NUMBER, ADDRESS, BRACKETS, TAG, FIRST_TAG, LAST_TAG, Reader, visible;
  var init_reading = __esm({
    "reading.js"() {
      init_casing();
      init_sentences();
      init_tokenizer();
      LETTER3 = /[\p{L}\p{N}]/u;
      INVISIBLE = /[\p{Cc}\p{Cf}\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;
      AROUND = '"#*•·‣†‡§';
      PLAIN = /^[\p{L}\p{Nl}\p{No}](.*[\p{L}\p{N}])?[.!?]?$/su;
      NUMBER = /^\p{Nd}+$/u;
      ADDRESS = /[\p{L}\p{N}_]@[\p{L}\p{N}_]|:\/\/|(?<![\p{L}\p{N}_])www\./u;
      BRACKETS = ["()", "[]", "{}", "«»", "“”"];
      TAG = /<\/?[\p{L}\p{N}_][^<>]*>/gu;
      FIRST_TAG = new RegExp(`^${TAG.source}`, "u");
      LAST_TAG = new RegExp(`${TAG.source}$`, "u");
      Reader = class {
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
          const plain2 = PLAIN.test(text) && !ADDRESS.test(text);
          const known = this.knows(text);
          if (!plain2 || !known) {
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
      visible = (text) => [...singleBlanks(text)].filter((x) => x !== " " && !INVISIBLE.test(x)).join("");
    }
  });

  // machine.js
  function chainOf(tokens) {
    let last = null;
    return tokens.map((token) => last = new Node(token, last));
  }
  function recorder(seen, tap = (_, values) => values) {
    return (name, values, places, given) => {
      const found = tap(name, values, places, given);
      const row = seen[name] ??= [];
      places.forEach((place, i) => {
        row[place.position ?? place] = name === "logits" ? found[i].slice() : found[i];
      });
      return found;
    };
  }
  var MORE, Machine;
  var init_machine = __esm({
    "machine.js"() {
      init_arithmetic();
      init_model();
      init_reading();
      init_tokenizer();
      MORE = 14;
      Machine = class {
        /** @param {PackedOpened} packed */
        constructor(packed) {
          this.model = new Model(packed);
          this.tokenizer = new Tokenizer(packed.vocabulary);
          this.reader = new Reader(this.tokenizer, packed.reading);
        }
        /** A text as the model reads it, its first sentence: pieces and ids. */
        read(text) {
          const parts = this.reader.line(text);
          const { sentence, ids } = parts.find(({ blank }) => !blank) ?? parts[0];
          return { pieces: [...this.tokenizer.split(sentence), "</s>"], ids };
        }
        /**
         * Translate greedily, as chapter 5 does, under changes (see changes.js).
         *
         * Donors, other sentences whose activations a change puts in, are run
         * beside it, with the same tokens of the target. Without the mask, earlier
         * positions depend on later ones, so that everything is read again at
         * every step.
         */
        run(text, changes = []) {
          const { pieces, ids } = this.read(text);
          const sources = this.begin(ids, changes);
          const again = changes.some(({ touches }) => touches("decoder.mask"));
          const tokens = [BEGIN];
          let nodes = chainOf(tokens);
          while (tokens.length <= ids.length + MORE && tokens.at(-1) !== END2) {
            const news = again ? chainOf(tokens) : [nodes.at(-1)];
            const rows = this.step(news, sources);
            const [token] = largest(rows.at(-1));
            tokens.push(token);
            nodes = [...nodes, new Node(token, nodes[nodes.length - 1])];
          }
          const target = tokens.slice(1).map((id) => this.tokenizer.pieces[id]);
          const cut2 = tokens.at(-1) === END2 ? "" : " …";
          const written = this.tokenizer.decode(tokens.slice(1)) + cut2;
          return { text, changes, ids, pieces, tokens, target, written };
        }
        /**
         * Read a source, and the donors of the changes.
         * @param {number[]} ids
         * @param {Pick<Change, "touches" | "apply" | "donor">[]} changes
         * @param {Activations} seen
         */
        begin(ids, changes, seen = {}) {
          const donors = /* @__PURE__ */ new Map();
          for (const { donor } of changes)
            if (donor && !donors.has(donor)) {
              const found = {};
              const read = this.read(donor);
              const source2 = this.model.encode(read.ids, recorder(found));
              donors.set(donor, { source: source2, seen: found, shadows: /* @__PURE__ */ new Map() });
            }
          const tap = (name, values, places, given) => changes.filter(({ touches }) => touches(name)).reduce(
            (found, { apply, donor }) => apply(found, places, donors.get(donor)?.seen[name] ?? given),
            values
          );
          const source = this.model.encode(ids, recorder(seen, tap));
          return { source, donors: [...donors.values()] };
        }
        /** One step of the donors, and then of the sentence itself. */
        step(nodes, { source, donors }) {
          for (const donor of donors) {
            const { shadows } = donor;
            const twins = nodes.map((node) => {
              const parent = shadows.get(node.way.at(-2)) ?? null;
              const twin = new Node(node.token, parent);
              shadows.set(node, twin);
              return twin;
            });
            this.model.step(twins, donor.source);
          }
          return this.model.step(nodes, source);
        }
        /**
         * Every activation when a token was written, by name and place.
         * @param {Run} run
         * @param {number} moment how many tokens were written before it
         */
        look({ ids, tokens, changes }, moment) {
          const seen = {};
          const sources = this.begin(ids, changes, seen);
          const nodes = chainOf(tokens.slice(0, moment + 1));
          this.step(nodes, sources);
          const logits = seen.logits[moment];
          const chances = softmax(logits);
          const order = [...chances.keys()].sort((a, b) => logits[b] - logits[a]);
          const ranked = order.slice(0, 6).map((token) => ({
            token,
            piece: this.tokenizer.pieces[token],
            logit: logits[token],
            p: chances[token]
          }));
          return { seen, chances, ranked };
        }
        /**
         * What a word's vector has taken from each word of the source: how far it
         * moves, as a share of its length, if that word's embedding is zero. One
         * row for each encoder layer.
         */
        mixed({ ids, changes }, place) {
          const names = this.model.encoder.map(
            (_, l) => `encoder.layers.${l}.around_feed_forward`
          );
          const vectors = (silent) => {
            const seen = {};
            const touches = (name) => name === "source";
            const apply = (values) => values.map((x, i) => i === silent ? x.map(() => 0) : x);
            this.begin(ids, [...changes, { touches, apply }], seen);
            return names.map((name) => seen[name][place]);
          };
          const norm = (x) => Math.hypot(...x);
          const whole = vectors(-1);
          const rows = ids.map((_, silent) => {
            const others = vectors(silent);
            return whole.map(
              (x, l) => norm(x.map((v, i) => v - others[l][i])) / norm(x)
            );
          });
          return names.map((_, l) => rows.map((row) => row[l]));
        }
      };
    }
  });

  // view.js
  function viewOf(machine, run, { sizes, pinned, ...chosen }) {
    const { moment, focus } = chosen;
    const { changes } = run;
    const target = ["<s>", ...run.target.slice(0, moment)];
    const pieces = { source: run.pieces, target };
    const room = { source: run.pieces.length, target: run.target.length };
    const mixtures = /* @__PURE__ */ new Map();
    const looked = machine.look(run, moment);
    const has = (name, key, value) => changes.some((each) => each.name === name && each[key] === value);
    return {
      ...looked,
      ...{ ...sizes, ...chosen, pieces, room },
      ids: { source: run.ids, target: run.tokens.slice(0, moment + 1) },
      /** Room for the keys of an attention. */
      wide: (name) => room[sidesOf(name)[1]],
      /** The word of a side that is looked at, if none is pointed at. */
      wordOf(side) {
        if (pinned?.side === side && pinned.place in pieces[side])
          return pinned.place;
        return side === "source" ? focus : moment;
      },
      mixed(place) {
        if (!mixtures.has(place)) mixtures.set(place, machine.mixed(run, place));
        return mixtures.get(place);
      },
      /** How likely the likeliest subword is when a head is silent. */
      without({ name, head }) {
        const silence2 = silence(name, head, sizes.heads);
        const other = { ...run, changes: [...changes, silence2] };
        const { chances } = machine.look(other, moment);
        return chances[looked.ranked[0].token];
      },
      silent: ({ name, head }) => has(name, "head", head),
      silentUnit: (name, unit) => has(name, "unit", unit),
      changed: (id) => changes.some(({ name }) => name === id)
    };
  }
  var init_view = __esm({
    "view.js"() {
      init_changes();
      init_heads();
    }
  });

  // opened.js
  var opened_exports = {};
  __export(opened_exports, {
    changes: () => changes_exports,
    show: () => show
  });
  function refill(place, ...children) {
    const buttons = () => [...place.querySelectorAll("button, summary")];
    const at = buttons().indexOf(document.activeElement);
    place.replaceChildren(...children);
    if (at >= 0) buttons()[at]?.focus({ preventScroll: true });
  }
  function inOrder(place) {
    const machine = model.machine ??= new Machine(model);
    const list2 = make("ol", { role: "status" });
    const draw = () => {
      const off = positions.checked ? [] : [positionsOff()];
      const lines2 = model.order.map(
        (text) => make(
          "li",
          {},
          make("span", { lang: "en" }, text),
          make("span", { lang: "de" }, machine.run(text, off).written)
        )
      );
      list2.replaceChildren(...lines2);
    };
    const given = { type: "checkbox", checked: true, change: draw };
    const positions = make("input", given);
    place.classList.add("at-live");
    const label = make("label.at-row", {}, positions, say("positions"));
    place.querySelector(".at-still").after(list2, label);
    draw();
  }
  var model, WAIT, SCENE, calm, PRONOUN, FIELDS, WORD2, TABS, NEXT, Opened, show;
  var init_opened = __esm({
    "opened.js"() {
      init_boxes();
      init_change_form();
      init_changes();
      init_elements();
      init_figure();
      init_film();
      init_heads();
      init_machine();
      init_view();
      init_walk();
      model = globalThis.inPage.models.opened;
      WAIT = 250;
      SCENE = 1500;
      calm = matchMedia("(prefers-reduced-motion: reduce)");
      PRONOUN = /^▁(it|he|she|they)$/i;
      FIELDS = "input, textarea, select, pre, [role=region]";
      WORD2 = /[\p{L}\p{N}'-]+|\S/gu;
      TABS = {
        walk: say("Walk"),
        heads: say("All heads"),
        changes: say("Change it")
      };
      NEXT = say("next").replace(/^./, (letter) => letter.toUpperCase());
      Opened = class {
        /** @type {Run} */
        plain;
        // without changes
        /** @type {Run} */
        run;
        // with those that are in force
        /** @type {View} */
        view;
        /** @type {HTMLElement[]} */
        tabs;
        /** @type {Record<string, HTMLElement>} */
        panels;
        constructor(place) {
          this.place = place;
          this.small = place.classList.contains("at-small");
          this.machine = model.machine ??= new Machine(model);
          const { decoder, heads } = this.machine.model;
          const { layer, head } = model.decides;
          const name = `decoder.layers.${layer - 1}.cross_attention`;
          const decides = { name, head: head - 1 };
          this.sizes = { layers: decoder.length, heads, decides };
          this.changes = /* @__PURE__ */ new Map();
          const begins = (tab) => place.classList.contains(`begins-${tab}`);
          this.tab = Object.keys(TABS).find(begins) ?? "walk";
          this.at = -1;
          this.open = name;
          this.whole = false;
          this.bet = void 0;
          this.moment = 0;
          this.focus = 0;
          this.head = void 0;
          this.pinned = void 0;
          this.figure = new Figure(({ id }) => this.openBox(id));
          this.grid = new HeadGrid((place2) => this.openBox(place2.name, place2));
          this.changing = new ChangeForm(
            { ...this.sizes, d_k: model.config.d_k, donor: model.donor },
            (text) => this.doubts(text),
            (change, id) => this.change(change, id),
            (...given) => this.leaveOut(...given),
            (place2) => this.view.without(place2)
          );
          place.classList.add("at-live");
          place.querySelector(".at-still").after(this.form(), this.body());
          const listen = (kinds, act) => kinds.forEach((kind) => place.addEventListener(kind, act));
          const point = (event) => this.point(event);
          listen(["pointerover", "pointermove", "focusin"], point);
          listen(["pointerleave"], () => this.lightWord());
          listen(["keydown"], (event) => this.key(event));
          const fit = () => this.figure.fits() || this.draw();
          new ResizeObserver(fit).observe(this.figure.element);
          addEventListener("resize", fit);
          new MutationObserver(() => this.draw()).observe(document.documentElement, {
            attributeFilter: ["data-theme"]
          });
          this.take(Object.values(model.examples)[0]);
        }
        /** What is asked: a sentence of the reader's; and what is written. */
        form() {
          const input = () => {
            clearTimeout(this.waiting);
            this.waiting = setTimeout(() => this.take(this.text.value), WAIT);
          };
          this.text = field({ id: "op-text", input });
          const examples = Object.entries(model.examples).map(
            ([name, text]) => example(name, text, () => this.take(text))
          );
          const title = say("A sentence in English");
          this.warning = make("p.op-warning", { role: "status" });
          this.english = oneStop(make("p.op-line", { lang: "en" }));
          this.german = oneStop(make("p.op-line", { lang: "de" }));
          this.before = make("p.at-note.op-before", { lang: "de" });
          this.next = make("ol.op-next", { "aria-label": say("What may come here") });
          this.heard = make("p.visually-hidden", { role: "status" });
          return make(
            ".op-form",
            {},
            this.small ? "" : make(
              ".at-row.at-head",
              {},
              make("label.at-title", { for: "op-text" }, title),
              make(".op-examples", {}, say("Examples:"), ...examples)
            ),
            ...this.small ? [] : [this.text, this.warning],
            this.english,
            make(".op-out", {}, this.german, this.next),
            this.heard
          );
        }
        /** The figure at the left, and at the right three things to do with it. */
        body() {
          this.saying = make("p.op-say", { role: "status" });
          this.count = make("span.op-count", {});
          const go = (by) => () => this.go(this.at + by);
          this.back = make("button.op-do", { click: go(-1) }, say("Back"));
          const keys = { title: say("or the space bar, or an arrow key") };
          this.on = make("button.at-main", { click: go(1), ...keys });
          const play = () => this.playing ? this.draw() : this.play();
          const passing = { title: say("Watch the sentence go through, once") };
          this.film = make("button.op-do", { click: play, ...passing });
          this.opened = make(".op-opened", {});
          this.bets = make(".at-row", {});
          const way = make(".at-row", {}, this.back, this.on, this.count);
          if (!this.small) way.append(this.film);
          const help = say(
            "Each square is the map of a head: rows are words that look, columns words that are looked at. Choose a word to see its lines in every head; open a head to enlarge it."
          );
          const inside = {
            walk: [make(".op-card", {}, way, this.saying, this.bets), this.opened],
            heads: [make("p.op-small", {}, help), this.grid.element],
            changes: [this.changing.element, this.before]
          };
          this.panels = {};
          this.tabs = Object.entries(TABS).map(([tab, title]) => {
            const id = `op-${tab}`;
            const given = { id, role: "tabpanel", "aria-label": title };
            this.panels[tab] = make("div", given, ...inside[tab]);
            const kind = { role: "tab", "aria-controls": id };
            const click = () => this.choose(tab);
            return make("button", { ...kind, "data-tab": tab, click }, title);
          });
          const list2 = { role: "tablist", "aria-label": say("What to do") };
          return make(
            ".op-body",
            { role: "group", "aria-label": say("The model") },
            this.figure.window,
            make(
              ".op-side",
              {},
              make(".op-tabs", list2, ...this.tabs),
              ...Object.values(this.panels)
            )
          );
        }
        /**
         * What can be said against a sentence.
         * @returns {[readable: boolean, said: string]}
         */
        doubts(text) {
          const parts = this.machine.reader.line(text);
          const [first, second] = parts.filter(({ blank }) => !blank);
          if (!first) return [false, say("Write a sentence in English.")];
          const words = first.sentence.toLowerCase().match(WORD2) ?? [];
          const never = [.../* @__PURE__ */ new Set([...words, ...first.unknown])].filter((word) => !model.words.includes(word)).map((word) => `“${word}”`);
          const only = second && say("Only the first sentence is read. ");
          const unknown = never.length > 0 && say(
            "The model has never seen {}: do not rely on what it writes.",
            listed(never, "disjunction")
          );
          return [true, `${only || ""}${unknown || ""}`];
        }
        /** Read another sentence. */
        take(text) {
          if (this.text.value !== text) this.text.value = text;
          const [readable, said] = this.doubts(text);
          this.warning.textContent = said;
          if (!readable) return;
          this.sentence = text;
          this.plain = this.machine.run(text);
          this.pinned = void 0;
          const { pieces, target } = this.plain;
          const pronoun = pieces.findIndex((piece) => PRONOUN.test(piece));
          this.focus = pronoun < 0 ? Math.min(1, pieces.length - 1) : pronoun;
          const telling = target.findIndex((x) => model.pieces.includes(x));
          this.moment = Math.max(0, telling);
          this.compute();
        }
        /** Run the model as it is now, and draw. */
        compute() {
          const active = [...this.changes.values()];
          this.run = active.length ? this.machine.run(this.sentence, active) : this.plain;
          this.changing.forget();
          this.draw();
        }
        /** Put a change in, or take the one with this id out. */
        change(change, id) {
          if (change) this.changes.set(id, change);
          else this.changes.delete(id);
          clearTimeout(this.due);
          this.due = setTimeout(() => this.compute());
        }
        /**
         * Put in a change that leaves out a part. If the sentence does as well
         * without, say why, and read one that needs it.
         */
        leaveOut(change, needs, why) {
          const without = [...this.changes.values(), change];
          const { written } = this.machine.run(this.sentence, without);
          const said = say(
            "“{}” is translated as before: {}. This sentence needs it.",
            ...[this.sentence, why]
          );
          const same = written === this.run.written;
          this.change(change, change.id);
          if (!same) return;
          this.take(needs);
          this.warning.textContent = said;
        }
        /** Put a change in if it is not, or take it out. */
        toggle(change) {
          const { id } = change;
          this.change(this.changes.has(id) ? void 0 : change, id);
        }
        /** The sentence goes through the boxes once, where things may move. */
        async play() {
          this.at = -1;
          this.draw();
          const scenes2 = scenes(this.view);
          const still = calm.matches;
          const pictures = scenes2.map(({ element }) => element);
          for (const one of pictures) one.classList.toggle("op-to-come", !still);
          const strip2 = make(".op-film", { role: "status" }, ...pictures);
          this.opened.replaceChildren(strip2);
          this.light();
          strip2.scrollIntoView({ block: "nearest" });
          if (still) return;
          this.film.textContent = say("Stop");
          const playing = this.playing = {};
          let reached = -1;
          for (const { box, element } of scenes2) {
            const from = reached + 1;
            const to = this.figure.indexOf(box);
            while (reached < to) {
              this.figure.reach(++reached);
              this.figure.ride(this.figure.boxes[reached], this.view);
              this.figure.centre(this.figure.boxes[reached]);
              await rest(SCENE / (to + 1 - from));
              if (this.playing !== playing) return;
            }
            element.classList.remove("op-to-come");
            await rest(SCENE);
            if (this.playing !== playing) return;
          }
          this.stop();
        }
        /** Play no further; what is seen stays. */
        stop() {
          this.playing = void 0;
          this.film.textContent = say("Play");
        }
        /** Draw all that is to be seen. */
        draw() {
          this.stop();
          const { run, sizes, focus, pinned, head, at, open, bet: bet2 } = this;
          const moment = Math.min(this.moment, run.target.length - 1);
          const chosen = { sizes, focus, pinned, head, moment, bet: bet2 };
          const { cells } = model;
          this.view = viewOf(this.machine, run, { ...chosen, cells });
          const walking = this.tab === "walk" && at >= 0 && !this.whole;
          const step = walking ? this.steps(sizes)[at] : void 0;
          const reached = step && !step.bet ? this.figure.indexOf(open) : Infinity;
          this.figure.draw(this.view, { open, reached });
          this.figure.ride(step && this.box, this.view);
          this.drawSentences();
          for (const tab of this.tabs) {
            const chosen2 = tab.dataset.tab === this.tab;
            tab.setAttribute("aria-selected", String(chosen2));
            tab.tabIndex = chosen2 ? 0 : -1;
          }
          for (const [tab, panel] of Object.entries(this.panels))
            panel.hidden = tab !== this.tab;
          if (this.tab === "heads") this.grid.draw(this.view);
          if (this.tab === "changes") this.changing.draw(this.changes);
          if (this.tab === "walk") this.drawStep();
          this.light();
        }
        /** The words of both sides; those of the target lead to their steps. */
        drawSentences() {
          const { run, view } = this;
          const word = (side, place, click) => ({
            ...{ "data-side": side, "data-place": place, click }
          });
          const english = (_, place) => word("source", place, () => {
            this.pinned = { side: "source", place };
            this.draw();
          });
          const german = (piece, i) => {
            const click = () => {
              Object.assign(this, { moment: i, pinned: void 0 });
              this.changing.forget();
              this.draw();
            };
            const label = say("{}: look at this step", plain(piece));
            const state = { "aria-pressed": `${i === view.moment}` };
            return {
              ...word("target", i + 1, click),
              ...state,
              "aria-label": label
            };
          };
          refill(this.english, ...chips("button.op-chip", run.pieces, english));
          refill(this.german, ...chips("button.op-chip", run.target, german));
          [...this.german.children].forEach((chip, i) => {
            chip.classList.toggle("op-now", i === view.moment);
            chip.classList.toggle("op-later", i > view.moment);
            const other = run.target[i] !== this.plain.target[i];
            chip.classList.toggle("op-other", other);
          });
          const next = view.ranked.slice(0, 3).map(({ piece, p }) => {
            const number = make("span.at-p", {}, chance(p));
            return make("li", share(p), `${plain(piece)} `, number);
          });
          this.next.replaceChildren(...next);
          const before = this.changes.size ? this.plain.written : "";
          this.before.textContent = before && say("Now: {} Before your changes: {}", run.written, before);
          const heard = say("The model writes: {}", run.written);
          if (this.heard.textContent !== heard) this.heard.textContent = heard;
        }
        /** The box that is open, as soon as there is room for the figure. */
        get box() {
          return this.figure.boxes[this.figure.indexOf(this.open)];
        }
        /** The steps of the walk here. */
        steps(view) {
          return steps(view).filter(({ short }) => short || !this.small);
        }
        /** What is said before the walk. */
        beginning() {
          const begins = say(
            "This is the model at the moment when it writes {}. Walk through it with Next, or open a box.",
            spoken(this.view.ranked[0].piece)
          );
          if (this.small) return begins;
          const more = say("Then change something, and see what it writes.");
          return joined(begins, more);
        }
        /** The step of the walk, and the box that is open. */
        drawStep() {
          const { at, view } = this;
          const steps2 = this.steps(view);
          const { box } = this;
          const said = this.whole && box && openedSay(box) || (steps2[at]?.say(view) ?? this.beginning());
          if (this.said !== said)
            this.saying.replaceChildren(...rich(this.said = said));
          const first = at < 0;
          this.count.textContent = first ? say("{} steps", steps2.length) : say("Step {} of {}", at + 1, steps2.length);
          const offered = !this.whole && steps2[at]?.bet && this.bet === void 0;
          const heads = Array.from({ length: offered ? view.heads : 0 }, (_, i) => {
            const click = () => {
              this.bet = i;
              this.draw();
              this.on.focus();
            };
            const place = { name: steps2[at].box, head: i };
            return make("button.op-do", { click }, nameOf(place));
          });
          refill(this.bets, ...heads);
          this.back.setAttribute("aria-disabled", first);
          const end = at === steps2.length - 1;
          const last = this.small ? say("Again") : TABS.changes;
          this.on.textContent = end ? last : NEXT;
          if (!box) return;
          const act = {
            openHead: (place) => this.openBox(box.id, place),
            silence: ({ name, head }) => this.toggle(this.changing.silences(name)[head]),
            silenceUnit: (name, unit) => this.toggle(silentUnit(name, unit))
          };
          refill(this.opened, ...contents(box, view, act));
        }
        /** Open a box, or one of its heads enlarged. */
        openBox(open, head) {
          const inside = document.activeElement?.closest(".op-side");
          Object.assign(this, { open, head, whole: true });
          this.choose("walk");
          this.bringIntoSight();
          if (inside) this.opened.querySelector("button")?.focus();
        }
        /** What is said, the box that it is said of, and the sentences. */
        bringIntoSight() {
          if (this.box) this.figure.centre(this.box);
          const card = this.saying.parentElement;
          for (const part of [card, this.figure.window, this.english])
            part.scrollIntoView({ block: "nearest" });
        }
        /** Go to a step of the walk. */
        go(at) {
          const steps2 = this.steps(this.sizes);
          if (at < 0) return;
          if (at >= steps2.length) {
            if (this.small) this.go(0);
            else {
              this.choose("changes");
              this.tabs[this.tabs.length - 1].focus();
            }
            return;
          }
          const { box: open, head: number } = steps2[at];
          const head = number === void 0 ? number : { name: open, head: number };
          Object.assign(this, { at, open, head, whole: false });
          Object.assign(this, { pinned: void 0, bet: void 0 });
          this.choose("walk");
          this.bringIntoSight();
        }
        choose(tab) {
          this.tab = tab;
          this.draw();
        }
        key(event) {
          const { key, target } = event;
          const by = { ArrowRight: 1, ArrowLeft: -1, " ": 1 }[key];
          if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
          if (target.closest(FIELDS)) return;
          if (key === " " && target.closest("button, a, summary")) return;
          event.preventDefault();
          const tab = this.tabs.indexOf(target);
          if (tab < 0) this.go(this.at + by);
          else {
            const { length } = this.tabs;
            const next = this.tabs[(tab + by + length) % length];
            this.choose(next.dataset.tab);
            next.focus();
          }
        }
        /** What is pointed at: a word, or an axis of a shape. */
        point({ target, clientY, type }) {
          if (!(target instanceof Element)) return;
          const around = (selector) => target.closest(selector);
          const { axis: axis2 } = around("[data-axis]")?.dataset ?? {};
          for (const name of axis2 === this.axis ? [] : ["axis", "across", "down"])
            for (const part of this.place.querySelectorAll(`[data-${name}]`))
              part.classList.toggle(`op-${name}-lit`, part.dataset[name] === axis2);
          this.axis = axis2;
          const rows = type !== "focusin" && around("[data-of]");
          const { side, place } = around("[data-side]")?.dataset ?? {};
          let word = side ? { side, place: Number(place) } : void 0;
          if (!word && rows) {
            const { top, height } = rows.getBoundingClientRect();
            const count = Number(rows.style.getPropertyValue("--rows"));
            const place2 = Math.floor(count * (clientY - top) / height);
            word = { side: rows.dataset.of, place: place2 };
          }
          const same = ["side", "place"].every(
            (key) => word?.[key] === this.word?.[key]
          );
          if (!same) this.lightWord(word);
        }
        lightWord(word) {
          this.word = word;
          this.light();
        }
        /** Light the word that is pointed at everywhere, or the chosen one. */
        light() {
          const box = this.at >= 0 && this.box;
          const side = box ? sideOf(box) : "source";
          const own = { side, place: this.view.wordOf(side) };
          const word = this.word ?? this.pinned ?? own;
          this.place.dataset.lit = word.side;
          this.place.style.setProperty("--at", word.place);
          for (const part of this.place.querySelectorAll("[data-side]")) {
            const { side: side2, place } = part.dataset;
            const same = side2 === word.side && Number(place) === word.place;
            part.classList.toggle("op-lit", same);
          }
          if (this.tab === "heads") this.grid.light(word);
          this.opened.querySelector(".op-big")?.light?.(word);
        }
      };
      show = (place) => place.matches(".at-order") ? inOrder(place) : new Opened(place);
    }
  });

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
  var wordsIn;
  var init_emphasis = __esm({
    "emphasis.js"() {
      init_arithmetic();
      init_casing();
      wordsIn = (numbers) => [...Array(Math.max(...numbers) + 1)];
    }
  });

  // beam_search.js
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
  function* beamSearch(model3, source, { width, alpha, noRepeat, limit }) {
    const finished = [];
    const steps2 = [];
    let live = [{ node: new Node(BEGIN, null), logP: 0 }];
    for (; ; ) {
      const nodes = live.map(({ node }) => node);
      const following = model3.step(nodes, source);
      const continuations = live.flatMap(({ node, logP }, row) => {
        const barred = repeating(node, noRepeat);
        const enough = Math.max(width, SHOWN2) + barred.size;
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
      steps2.push(step);
      yield step;
      live = places.filter(({ state }) => state === "live");
      const [first] = [...finished].sort((a, b) => b.score - a.score);
      if (live.length === 0) return { ...first, steps: steps2 };
      const bound = live[0].logP / lengthPenalty(limit, alpha);
      if (first && bound <= first.score) return { ...first, steps: steps2 };
    }
  }
  var SHOWN2, lengthPenalty, Translator;
  var init_beam_search = __esm({
    "beam_search.js"() {
      init_arithmetic();
      init_casing();
      init_emphasis();
      init_model();
      init_reading();
      init_tokenizer();
      SHOWN2 = 6;
      lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;
      Translator = class {
        /** @param {PackedTranslator} packed */
        constructor(packed) {
          this.model = new Model(packed);
          this.tokenizer = new Tokenizer(packed.vocabulary);
          this.reader = new Reader(this.tokenizer, packed.reading);
          this.beam = packed.search.beam;
          this.alpha = packed.search.alpha;
          this.noRepeat = packed.search.no_repeat;
          this.stretch = packed.search.stretch;
        }
        /**
         * Translate a line, sentence by sentence: it hands out every step of their
         * searches. At the end it returns the line's parts, what was found for
         * those that have something to read, and the translation.
         * @param {string} line
         * @param {{width?: number, alpha?: number, noRepeat?: number}} options
         */
        *translate(line, { width = this.beam, alpha = this.alpha, noRepeat = this.noRepeat } = {}) {
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
            const stretched = ids.length * Math.round(100 * this.stretch);
            const limit = Math.floor(stretched / 100) + 50;
            const options = { width, alpha, noRepeat, limit };
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
    }
  });

  // translator.js
  var translator_exports = {};
  __export(translator_exports, {
    Translator: () => Translator,
    sentences: () => sentences,
    show: () => show2
  });
  function choice(title, name, options, change, chosen = 0) {
    const radio = ([label, value], i) => {
      const given = { type: "radio", name, value, checked: i === chosen };
      return make("label", {}, make("input", { ...given, change }), label);
    };
    const legend = make("legend", {}, title);
    return make("fieldset.at-search", {}, legend, ...options.map(radio));
  }
  var models, WORD3, STATES, PATIENCE, Widget, show2;
  var init_translator = __esm({
    "translator.js"() {
      init_attention();
      init_beam_search();
      init_elements();
      init_elements();
      init_sentences();
      init_tokenizer();
      models = globalThis.inPage.models.translator;
      WORD3 = /[\p{L}\p{N}'-]+|\S/gu;
      STATES = { finished: say("finished"), closed: say("closed") };
      PATIENCE = 50;
      Widget = class {
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
        use(model3, text = Object.values(model3.examples)[0]) {
          this.model = model3;
          this.translator = model3.translator ??= new Translator(model3);
          this.pieces = this.translator.tokenizer.pieces;
          this.text.value = text;
          const radios = this.modelChoice.querySelectorAll("input");
          radios[models.indexOf(model3)].checked = true;
          const examples = Object.entries(model3.examples).map(
            ([name, text2]) => example(name, text2, () => {
              this.text.value = text2;
              this.translate();
            })
          );
          this.examples.replaceChildren(say("Examples:"), ...examples);
          const { decoder, heads } = this.translator.model;
          const [layer, head] = model3.cross;
          const sizes = { layers: decoder.length, heads, layer, head };
          this.attention?.element.remove();
          this.attention = new AttentionView(sizes);
          this.panel.append(this.attention.element);
          this.translate();
        }
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
          const labels2 = models.map(({ label }, i) => [say(label), i]);
          this.modelChoice = choice(
            say("Model"),
            "at-model",
            labels2,
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
          this.said = make("p.visually-hidden", { role: "status", lang: "de" });
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
          const words = [...new Set(text.toLowerCase().match(WORD3))];
          const strange = (model3) => words.filter((word) => model3.words && !model3.words.includes(word));
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
          const fits = models.find((model3) => model3.words && !strange(model3).length) ?? models.find((model3) => !model3.words);
          if (!fits || fits === this.model) return;
          const click = () => {
            this.use(fits, this.typed);
            this.text.focus();
          };
          const name = say(fits.label);
          const label = say("Translate with the model for {}", name);
          const button = make("button.at-quiet", { click }, label);
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
          const bars2 = node.candidates.map(
            ({ token, p }) => make(
              token === best.node.way[at + 1].token ? "li.at-now" : "li",
              share(p),
              make("span", { lang: "de" }, ...named(this.pieces[token])),
              make("span.at-p", {}, chance(p))
            )
          );
          this.candidates.replaceChildren(
            make("p.at-title", {}, say("What may come here, with probability")),
            make("ol.at-bars", {}, ...bars2),
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
      show2 = (place) => new Widget(place);
    }
  });

  // sample.js
  var Writer;
  var init_sample = __esm({
    "sample.js"() {
      init_casing();
      init_model();
      init_tokenizer();
      Writer = class {
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
          const lines2 = text.replace(/^\ufeff/, "").split("\n").map((line) => line.replace(/\r$/, ""));
          const last = lines2.pop() ?? "";
          const ids = lines2.map(
            (line) => stripped(line) === this.mark ? [END2] : this.tokenizer.encode(`${line}
`)
          );
          return [END2, ...ids.flat(), ...this.tokenizer.encode(last)];
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
          if (token !== END2) return this.tokenizer.decode([token]);
          return `${/[^\n]$/.test(before) ? "\n" : ""}${this.mark}
`;
        }
      };
    }
  });

  // writer.js
  var writer_exports = {};
  __export(writer_exports, {
    Model: () => Model,
    Node: () => Node,
    Writer: () => Writer,
    show: () => show3,
    uniform: () => uniform
  });
  var model2, PACE, LIMIT, SHOWN3, NAMES, calm2, Widget2, show3;
  var init_writer = __esm({
    "writer.js"() {
      init_arithmetic();
      init_elements();
      init_model();
      init_sample();
      model2 = globalThis.inPage.models.writer;
      PACE = 25;
      LIMIT = 500;
      SHOWN3 = 5;
      NAMES = {
        "</s>": "end of speech",
        "\n": "end of line",
        "▁": "space"
      };
      calm2 = matchMedia("(prefers-reduced-motion: reduce)");
      Widget2 = class {
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
          this.writer = new Writer(model2);
          place.classList.add("at-live");
          place.querySelector(".at-still").after(this.form(), this.result());
          this.begin();
        }
        focus() {
          this.button.focus();
        }
        /** What is asked: a beginning, the options, a seed. */
        form() {
          const button = (tag, text, click) => make(`button.${tag}`, { click }, text);
          const begin = () => this.begin();
          const again = () => {
            this.begin();
            this.write();
          };
          const example2 = ([name, text]) => button("at-quiet", name, () => {
            this.beginning.value = text;
            this.begin();
          });
          const beginnings = Object.entries(model2.beginnings);
          const lines2 = { rows: 2, maxlength: 240, spellcheck: "false" };
          this.beginning = make(
            "textarea",
            { id: "at-beginning", input: begin, ...lines2 },
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
              make(".at-examples", {}, "Examples:", ...beginnings.map(example2))
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
          this.said = make("p.visually-hidden", { role: "status" });
          this.note = make("p.at-note.at-count", {});
          this.buttons = Array.from({ length: SHOWN3 }, (_, i) => {
            const click = () => this.choose(i);
            return make("button", { click });
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
            await rest(calm2.matches ? 0 : PACE);
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
          if (ended || !calm2.matches || by === "at-chosen") this.show(by);
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
      show3 = (place) => new Widget2(place);
    }
  });

  // programs.js
  var programs_exports = {};
  __export(programs_exports, {
    opened: () => opened,
    translator: () => translator,
    writer: () => writer
  });
  var opened = () => Promise.resolve().then(() => (init_opened(), opened_exports));
  var translator = () => Promise.resolve().then(() => (init_translator(), translator_exports));
  var writer = () => Promise.resolve().then(() => (init_writer(), writer_exports));
  return __toCommonJS(programs_exports);
})();
