/**
 * What the reader sees and does. The model is asked for one step at a time;
 * every step stays at hand, so that one can go back to it and look at what
 * else might have been written, and at what each head attended to.
 */
(() => {
  const SPACE = "▁";
  const PAUSE = 70; // ms between steps at least, so that one can follow
  const EXAMPLES = [
    "Two children in red jackets are playing in the snow.",
    "A woman with a big hat reads a book on a bench.",
    "An old man is repairing his bicycle in front of a house.",
  ];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * An element: its attributes (functions are listeners) and what is in it.
   * @param {string} tag a name and, after dots, classes
   */
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

  /** A pause; none for those who want no motion. */
  const rest = (ms) =>
    new Promise((done) => setTimeout(done, calm.matches ? 0 : Math.max(0, ms)));

  /** A share from 0 to 1 as the style of a cell or a bar. */
  const share = (weight) => ({ style: `--share: ${weight.toFixed(3)}` });

  /** A number with its digits and a true minus. */
  const digits = (x, count) => x.toFixed(count).replace("-", "−");

  /** A piece with its sign for a space, small. */
  const named = (piece) =>
    piece.startsWith(SPACE)
      ? [make("span.at-space", {}, SPACE), piece.slice(1)]
      : [piece];

  /**
   * Pieces as chips, with a space before each that begins a word.
   * @param {string[]} pieces
   * @param {(piece: string, place: number) => object} given attributes
   */
  function chips(tag, pieces, given = () => ({})) {
    return pieces.flatMap((piece, i) => {
      const text = piece.replaceAll(SPACE, "") || "␣";
      const begins = piece.startsWith(SPACE) || piece.startsWith("<");
      return [begins && i ? " " : "", make(tag, given(piece, i), text)];
    });
  }

  class Widget {
    constructor(place) {
      this.translator = new globalThis.pageModel.Translator(
        globalThis.pageModel.packed,
      );
      this.pieces = this.translator.tokenizer.pieces;
      this.layers = this.translator.model.decoder.length;
      this.heads = this.translator.model.heads;
      this.run = 0; // a new translation ends the one before
      place.classList.add("at-live");
      place.append(this.form(), this.result());
      this.translate();
    }

    /** What is asked: a caption and a kind of search. */
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
        },
      });
      this.text.value = EXAMPLES[0];
      const examples = EXAMPLES.map((text, i) =>
        make(
          "button.at-quiet",
          {
            type: "button",
            "aria-label": `Example: ${text}`,
            click: () => {
              this.text.value = text;
              this.translate();
            },
          },
          `example ${i + 1}`,
        ),
      );
      const kind = (name, width, checked) => {
        const given = { type: "radio", name: "at-search", value: width };
        const change = () => this.translate();
        return make(
          "label",
          {},
          make("input", { ...given, checked, change }),
          name,
        );
      };
      this.search = make(
        "fieldset.at-search",
        {},
        make("legend", {}, "Search"),
        kind("greedy", 1, true),
        kind("beam of 5", 5, false),
      );
      return make(
        "form.at-form",
        {
          submit: (event) => {
            event.preventDefault();
            this.translate();
          },
        },
        make(
          ".at-row.at-head",
          {},
          make("label.at-title", { for: "at-text" }, "A caption in English"),
          make(".at-examples", {}, ...examples),
        ),
        this.text,
        make(
          ".at-row",
          {},
          make("button.at-main", { type: "submit" }, "Translate"),
          this.search,
        ),
      );
    }

    /** What is answered: the output, its steps, the attention. */
    result() {
      this.output = make("p.at-output", { lang: "de", "aria-hidden": "true" });
      this.said = make("p.at-hidden", { role: "status", lang: "de" });
      this.note = make("p.at-note", { role: "status" });
      this.step = make("input", {
        id: "at-step",
        type: "range",
        min: 1,
        value: 1,
        input: () => this.look(),
      });
      this.stepName = make("label.at-title", { for: "at-step" });
      this.source = make("p.at-source", { lang: "en" });
      this.candidates = make("section", {});
      this.beam = make("section", {});
      this.map = make(".at-map", { tabindex: 0, role: "region" });
      this.summary = make("p.at-note", {});
      this.legend = make("p.at-note", {});
      const choose = (name, options) => {
        const names = options.map((text, i) =>
          make("option", { value: i }, text),
        );
        const id = `at-${name}`;
        const change = () => this.attention();
        const select = make("select", { id, change }, ...names);
        const label = make("label", { for: id }, name);
        return [select, make("span.at-field", {}, label, select)];
      };
      const numbers = (count) => Array.from({ length: count }, (_, i) => i + 1);
      const [kind, kindLabel] = choose("attention", [
        "cross",
        "encoder",
        "decoder",
      ]);
      const [layer, layerLabel] = choose("layer", numbers(this.layers));
      const [head, headLabel] = choose("head", numbers(this.heads));
      Object.assign(this, { kind, layer, head });
      layer.value = this.layers - 1;
      const { about } = globalThis.pageModel.packed;
      const millions = (about.parameters / 1e6).toFixed(1);
      this.panel = make(
        ".at-panel",
        {},
        make(".at-stepper", {}, this.stepName, this.step),
        make(".at-columns", {}, this.candidates, this.beam),
        make(".at-row.at-choose", {}, kindLabel, layerLabel, headLabel),
        this.source,
        this.summary,
        this.legend,
        this.map,
      );
      this.panel.hidden = true;
      return make(
        "section",
        { "aria-label": "The translation" },
        this.output,
        this.said,
        this.note,
        this.panel,
        make(
          "p.at-note",
          {},
          `${millions} million parameters, trained on ` +
            `${about.pairs.toLocaleString("en")} captions of ${about.data} ` +
            `in English and German. ${about.licence} ` +
            "It knows captions of photos and little else.",
        ),
      );
    }

    /** Translate what is typed, and show every step as it comes. */
    async translate() {
      const run = ++this.run;
      const text = this.text.value.trim();
      this.steps = [];
      this.output.replaceChildren();
      this.said.textContent = "";
      this.panel.hidden = true;
      if (!text) {
        this.note.textContent = "Type a caption first.";
        return;
      }
      this.note.textContent = "Translating.";
      await rest(0);
      const width = Number(this.search.querySelector(":checked").value);
      let begin = performance.now();
      let spent = 0;
      const reading = this.translator.translate(text, { width });
      Object.assign(this, { read: reading.pieces, maps: reading.maps });
      for (;;) {
        const { value, done } = reading.search.next();
        const took = performance.now() - begin;
        spent += took;
        if (done) {
          this.finish(value, spent);
          return;
        }
        this.steps.push(value);
        this.write(value.places[0].node);
        await rest(PAUSE - took);
        if (run !== this.run) return;
        begin = performance.now();
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

    /** The search is over: the output can be looked at, step by step. */
    finish(best, spent) {
      this.best = best;
      const text = this.translator.tokenizer.decode(best.tokens);
      this.said.textContent = text;
      this.said.dataset.tokens = JSON.stringify(best.tokens);
      this.note.textContent =
        `${best.node.position} pieces in ${(spent / 1000).toFixed(2)} ` +
        `seconds; log-probability ${digits(best.logP, 2)}, ` +
        `score ${digits(best.score, 2)}.`;
      this.target = this.written(best.node);
      const step = (i) => () => {
        this.step.value = i + 1;
        this.look();
      };
      this.output.replaceChildren(
        ...chips("button.at-chip", this.target, (_, i) => ({
          type: "button",
          tabindex: -1, // the slider does the same for the keyboard
          click: step(i),
        })),
      );
      this.step.max = this.target.length;
      this.step.value = 1 + this.doubtful();
      this.panel.hidden = false;
      this.look();
    }

    /** The step whose piece had the least probability. */
    doubtful() {
      const { way } = this.best.node;
      const chances = way.slice(1).map(({ token }, i) => {
        const found = way[i].candidates.find((c) => c.token === token);
        return found?.p ?? 0;
      });
      return chances.indexOf(Math.min(...chances));
    }

    /** Show the step that the slider names. */
    look() {
      const at = Number(this.step.value) - 1;
      const piece = this.target[at];
      this.stepName.textContent = `Step ${at + 1} of ${this.target.length}`;
      this.step.setAttribute(
        "aria-valuetext",
        `${at + 1} of ${this.target.length}, ${piece}`,
      );
      [...this.output.children].forEach((chip, i) => {
        chip.classList.toggle("at-now", i === at);
        chip.classList.toggle("at-later", i > at);
      });
      const node = this.best.node.way[at]; // what is read before the piece
      const bars = node.candidates.map(({ token, p }) =>
        make(
          token === this.best.node.way[at + 1].token ? "li.at-now" : "li",
          share(p),
          make("span", { lang: "de" }, ...named(this.pieces[token])),
          make("span.at-p", {}, p.toFixed(p < 0.001 ? 4 : 3)),
        ),
      );
      this.candidates.replaceChildren(
        make("h3.at-title", {}, "What may come here, with probability"),
        make("ol.at-bars", {}, ...bars),
      );
      this.showBeam(at);
      this.attention();
    }

    /** The places of the beam after a step; greedy search has only one. */
    showBeam(at) {
      const step = this.steps[at];
      this.beam.replaceChildren();
      if (!step || step.places.length === 1) return;
      const rows = step.places.map(({ node, logP, state }) => {
        const ours = this.best.node.way.includes(node);
        const ids = node.way.slice(1).map(({ token }) => token);
        const ended = ids.at(-1) === 2 ? " </s>" : "";
        return make(
          `li.at-${state}${ours ? ".at-now" : ""}`,
          {},
          make(
            "span",
            { lang: "de" },
            this.translator.tokenizer.decode(ids) + ended,
          ),
          make(
            "span.at-p",
            {},
            `${state === "live" ? "" : `${state} `}${digits(logP, 2)}`,
          ),
        );
      });
      this.beam.append(
        make("h3.at-title", {}, "The beam now, with log-probabilities"),
        make("ol.at-beam", {}, ...rows),
      );
      if (step.finished.length === 0) return;
      const ended = step.finished.map(
        ({ tokens, score }) =>
          `“${this.translator.tokenizer.decode(tokens) || "</s>"}” ` +
          `with the score ${digits(score, 2)}`,
      );
      this.beam.append(
        make("p.at-note", {}, `Finished, each with a place: ${ended.join("; ")}.`),
      );
    }

    /**
     * The weights of the chosen layer and head: rows of queries, and what
     * names rows and columns.
     */
    chosen() {
      const [layer, head] = [Number(this.layer.value), Number(this.head.value)];
      const way = this.best.node.way.slice(0, -1);
      const said = ["<s>", ...this.target.slice(0, -1)];
      return [
        {
          name: "Cross-attention",
          rows: this.target,
          columns: this.read,
          weights: way.map((node) => node.cross[layer][head]),
        },
        {
          name: "Encoder self-attention",
          rows: this.read,
          columns: this.read,
          weights: this.maps[layer].map((query) => query[head]),
        },
        {
          name: "Decoder self-attention",
          rows: this.target,
          columns: said,
          weights: way.map((node) => node.decoder[layer][head]),
        },
      ][Number(this.kind.value)];
    }

    /** The chosen map as a table, and the current step's row in words. */
    attention() {
      const at = Number(this.step.value) - 1;
      const encoder = this.kind.value === "1";
      const { name, rows, columns, weights } = this.chosen();
      const which = `layer ${Number(this.layer.value) + 1}, head ${
        Number(this.head.value) + 1
      }`;
      const title = `${name}, ${which}`;
      const queries = encoder
        ? "each row is a piece that the encoder reads"
        : "each row is the moment before the piece on the left was written";
      const line = (row, i) =>
        make(
          !encoder && i === at ? "tr.at-now" : "tr",
          {},
          make("th", { scope: "row" }, ...named(row)),
          ...columns.map((column, j) => {
            const weight = weights[i][j];
            if (weight === undefined) return make("td.at-unseen");
            const text = weight.toFixed(2);
            return make(
              "td",
              { ...share(weight), title: `${row} on ${column}: ${text}` },
              make("span.at-hidden", {}, text),
            );
          }),
        );
      this.map.setAttribute("aria-label", title);
      this.legend.textContent = `${title}: ${queries}.`;
      this.map.replaceChildren(
        make(
          "table",
          { "aria-label": title, style: `--columns: ${columns.length}` },
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              make("td"),
              ...columns.map((column) =>
                make(
                  "th",
                  { scope: "col" },
                  make("span", {}, ...named(column)),
                ),
              ),
            ),
          ),
          make("tbody", {}, ...rows.map(line)),
        ),
      );
      this.shade(at, which);
    }

    /** The source, shaded by what the decoder looked at in this step. */
    shade(at, which) {
      const cross = this.best.node.way[at].cross;
      const weights = cross[Number(this.layer.value)][Number(this.head.value)];
      this.source.replaceChildren(
        ...chips("span.at-chip", this.read, (_, i) => share(weights[i])),
      );
      const order = this.read
        .map((piece, i) => [piece, weights[i]])
        .sort((a, b) => b[1] - a[1]);
      const [first, second] = order;
      const looked = ([piece, weight]) => [
        ...named(piece),
        ` (${weight.toFixed(2)})`,
      ];
      this.summary.replaceChildren(
        "Before it wrote ",
        ...named(this.target[at]),
        `, cross-attention of ${which} looked most at `,
        ...looked(first),
        ...(second ? [" and ", ...looked(second)] : []),
        ".",
      );
    }
  }

  globalThis.pageModel.show = (place) => new Widget(place);
})();
