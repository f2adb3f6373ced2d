/**
 * A Transformer that can be opened: a sentence, the figure of the model with
 * its numbers, a walk through it, all heads, and changes.
 */
(() => {
  const { Machine, Figure, ChangeForm, silentUnit } = globalThis.inPage;
  const { heads, boxes, walk, changes } = globalThis.inPage;
  const { make, chips, share, chance } = globalThis.inPage.elements;
  const { HeadGrid, sidesOf } = heads;
  const model = globalThis.inPage.models.opened;
  const WAIT = 250; // ms after the last key before a sentence is read
  const PRONOUN = /^▁(it|he|she|they)$/i;
  const FIELDS = "input, select, textarea, [role=tab], pre, [role=region]";

  /** Text with *words* in italics. */
  const rich = (text) =>
    text.split("*").map((part, i) => (i % 2 ? make("em", {}, part) : part));

  class Opened {
    constructor(place) {
      this.place = place;
      this.machine = model.machine ??= new Machine(model);
      this.changes = new Map();
      this.tab = "walk";
      this.at = -1; // before the first step
      const { decoder, heads: count } = this.machine.model;
      const layers = decoder.length;
      const { layer, head } = model.decides;
      const name = `decoder.layers.${layer - 1}.cross_attention`;
      this.decides = { name, head: head - 1 };
      this.sizes = { layers, heads: count, decides: this.decides };
      this.open = name;
      place.classList.add("at-live");
      place.querySelector(".at-still").after(this.form(), this.body());
      place.addEventListener("pointerover", (event) => this.point(event));
      place.addEventListener("pointermove", (event) => this.point(event));
      place.addEventListener("pointerleave", () => this.light());
      place.addEventListener("focusin", (event) => this.point(event));
      place.addEventListener("keydown", (event) => this.key(event));
      const redraw = () => this.view && this.draw();
      new ResizeObserver(redraw).observe(this.figure.element);
      const theme = { attributeFilter: ["data-theme"] };
      new MutationObserver(redraw).observe(document.documentElement, theme);
      this.take(Object.values(model.examples)[0]);
    }

    /** What is asked: a sentence of the reader's. */
    form() {
      this.text = make("input", {
        id: "op-text",
        type: "text",
        ...{ lang: "en", maxlength: 120, spellcheck: "false" },
        input: () => {
          clearTimeout(this.waiting);
          this.waiting = setTimeout(() => this.take(this.text.value), WAIT);
        },
      });
      const examples = Object.entries(model.examples).map(([name, text]) => {
        const given = { type: "button", "aria-label": `Example: ${text}` };
        const click = () => this.take(text);
        return make("button.at-quiet", { ...given, click }, name);
      });
      this.warning = make("p.at-warning", { role: "status" });
      this.english = make("p.op-line", { lang: "en" });
      this.german = make("p.op-line", { lang: "de" });
      this.before = make("p.at-note.op-before", { lang: "de" });
      this.next = make("ol.op-next", { "aria-label": "What may come here" });
      this.heard = make("p.at-hidden", { role: "status" });
      return make(
        ".op-form",
        {},
        make(
          ".at-row.at-head",
          {},
          make("label.at-title", { for: "op-text" }, "A sentence in English"),
          make(".at-examples", {}, "Examples:", ...examples),
        ),
        this.text,
        this.warning,
        this.english,
        make(".op-out", {}, this.german, this.next),
        this.before,
        this.heard,
      );
    }

    /** The figure at the left, and at the right three things to do with it. */
    body() {
      this.figure = new Figure(({ id }) => {
        Object.assign(this, { open: id, head: undefined, at: this.at });
        this.whole = true;
        this.choose("walk");
      });
      this.grid = new HeadGrid((place) => this.openHead(place));
      this.changing = new ChangeForm(
        {
          ...this.sizes,
          d_k: model.config.d_k,
          units: 128,
          donor: model.donor,
        },
        (change, id) => this.change(change, id),
        () => this.tryAll(),
      );
      this.saying = make("p.op-say", { role: "status" });
      this.count = make("span.op-count", {});
      const go = (by) => ({
        type: "button",
        click: () => this.go(this.at + by),
      });
      this.back = make("button.op-do", go(-1), "Back");
      this.on = make("button.at-main", go(1), "Next");
      this.opened = make(".op-opened", {});
      this.offer = make(".at-row", {});
      this.panels = {
        walk: make(
          ".op-panel",
          {},
          make(
            ".op-card",
            {},
            this.saying,
            this.offer,
            make(".at-row", {}, this.back, this.on, this.count),
          ),
          this.opened,
        ),
        heads: make(
          ".op-panel",
          {},
          make(
            "p.op-small",
            {},
            ...rich(
              "Rows are words that look, columns words that are looked at. Point at a word to see its lines in every head; open a head to enlarge it.",
            ),
          ),
          this.grid.element,
        ),
        changes: make(".op-panel", {}, this.changing.element),
      };
      const titles = { walk: "Walk", heads: "All heads", changes: "Change it" };
      this.tabs = Object.entries(titles).map(([id, title]) => {
        const panel = this.panels[id];
        Object.assign(panel, { id: `op-${id}` });
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-label", title);
        const given = {
          type: "button",
          role: "tab",
          "aria-controls": panel.id,
        };
        const click = () => this.choose(id);
        return make("button", { ...given, "data-tab": id, click }, title);
      });
      return make(
        ".op-body",
        { role: "group", "aria-label": "The model" },
        this.figure.element,
        make(
          ".op-side",
          {},
          make(
            ".op-tabs",
            { role: "tablist", "aria-label": "What to do" },
            ...this.tabs,
          ),
          ...Object.values(this.panels),
        ),
      );
    }

    focus() {
      this.on.focus();
    }

    /** Read another sentence. */
    take(text) {
      if (this.text.value !== text) this.text.value = text;
      const { tokenizer, words } = this.machine;
      if (!tokenizer.normalize(text)) return;
      const read = text.toLowerCase().match(/[\p{L}'-]+|[^\s\p{L}]/gu);
      const strange = [...new Set(read)].filter(
        (word) => !words.includes(word),
      );
      const list = new Intl.ListFormat("en", { type: "disjunction" });
      const never = strange.map((word) => `“${word}”`);
      this.warning.textContent = strange.length
        ? `The model has never seen ${list.format(never)}, so do not rely on what it writes.`
        : "";
      this.sentence = text;
      this.plain = this.machine.run(text);
      this.pinned = undefined;
      const { pieces, target } = this.plain;
      const pronoun = pieces.findIndex((piece) => PRONOUN.test(piece));
      this.focusOn = pronoun < 0 ? Math.min(1, pieces.length - 1) : pronoun;
      const telling = target.findIndex((piece) => model.pieces.includes(piece));
      this.moment = Math.max(0, telling);
      this.changing.forget();
      this.compute();
    }

    /** Run the model as it is now, and draw. */
    compute() {
      const active = [...this.changes.values()];
      this.run = active.length
        ? this.machine.run(this.sentence, active)
        : this.plain;
      this.draw();
    }

    /** Put a change in, or take one out. */
    change(change, id) {
      if (change) this.changes.set(id, change);
      else this.changes.delete(id);
      clearTimeout(this.due);
      this.due = setTimeout(() => this.compute()); // several come at once
    }

    /** Silence a head, or give it back. */
    toggle(place) {
      const { id } = changes.silence(place.name, place.head, this.sizes.heads);
      const [change] = this.changing
        .silences(place.name)
        .filter(({ head }) => head === place.head);
      this.change(this.changes.has(id) ? undefined : change, id);
    }

    /** How likely the next subword stays, without one head after the other. */
    tryAll() {
      const base = this.machine.look(this.run, this.moment);
      const [{ token }] = base.ranked;
      const found = new Map();
      for (const name of heads.attentions(this.sizes.layers))
        for (const change of this.changing.silences(name)) {
          const changed = [...this.changes.values(), change];
          const run = { ...this.run, changes: changed };
          const { chances } = this.machine.look(run, this.moment);
          found.set(change.id, chances[token]);
        }
      return found;
    }

    /** What is to be drawn: everything at one moment. */
    look(later) {
      const { run, machine, changes: active } = this;
      const moment = Math.min(this.moment + later, run.target.length - 1);
      const mixtures = new Map();
      const all = [...active.values()];
      const room = { source: run.pieces.length, target: run.target.length };
      const view = {
        ...machine.look(run, moment),
        ...this.sizes,
        moment,
        room,
        pieces: {
          source: run.pieces,
          target: ["<s>", ...run.target.slice(0, moment)],
        },
        ids: { source: run.ids, target: run.tokens.slice(0, moment + 1) },
        cells: model.cells,
        focus: this.focusOn,
        head: this.head,
        wide: (name) => room[sidesOf(name)[1]],
        wordOf: (side) => {
          const wanted = side === "encoder" ? "source" : "target";
          const { side: pinned, place } = this.pinned ?? {};
          const own = wanted === "source" ? this.focusOn : moment;
          return {
            side: wanted,
            place:
              pinned === wanted && place <= view.pieces[wanted].length - 1
                ? place
                : own,
          };
        },
        mixed: (place) => {
          if (!mixtures.has(place))
            mixtures.set(place, machine.mixed(run, place));
          return mixtures.get(place);
        },
        silent: ({ name, head }) =>
          all.some((change) => change.name === name && change.head === head),
        silentUnit: (name, unit) =>
          all.some((change) => change.name === name && change.unit === unit),
        silentUnits: (name) =>
          all
            .filter((c) => c.name === name && c.unit !== undefined)
            .map((c) => c.unit),
        changed: (id) => all.some(({ name }) => name === id),
      };
      return view;
    }

    /** Draw all that is to be seen. */
    draw() {
      const step = walk.steps({ ...this.sizes, decides: this.decides })[
        this.at
      ];
      const view = (this.view = this.look(step?.later ?? 0));
      const { run } = this;
      this.steps = walk.steps(view);
      const reached =
        this.tab !== "walk" || this.at < 0 || this.whole || step?.later
          ? Infinity
          : this.figure.indexOf(this.open);
      this.figure.draw(view, { open: this.open, reached });
      const word = (side, click) => (piece, i) => ({
        type: "button",
        ...{ "data-side": side, "data-place": i, click: () => click(i) },
      });
      this.english.replaceChildren(
        ...chips(
          "button.op-chip",
          run.pieces,
          word("source", (i) => {
            this.pinned = { side: "source", place: i };
            this.draw();
          }),
        ),
      );
      const others = this.changes.size ? this.plain.target : run.target;
      this.german.replaceChildren(
        ...chips("button.op-chip", run.target, (piece, i) => ({
          ...word("target", () => {
            this.moment = i;
            this.pinned = undefined;
            this.changing.forget();
            this.draw();
          })(piece, i + 1),
          "aria-pressed": i === view.moment,
          "aria-label": `${boxes.plain(piece)}: look at this step`,
        })),
      );
      [...this.german.querySelectorAll("button")].forEach((chip, i) => {
        chip.classList.toggle("op-now", i === view.moment);
        chip.classList.toggle("op-later", i > view.moment);
        chip.classList.toggle("op-other", run.target[i] !== others[i]);
      });
      this.next.replaceChildren(
        ...view.ranked
          .slice(0, 3)
          .map(({ piece, p }) =>
            make(
              "li",
              share(p),
              `${boxes.plain(piece)} `,
              make("span.at-p", {}, chance(p)),
            ),
          ),
      );
      const { written } = this.plain;
      this.before.textContent = this.changes.size
        ? `Unchanged: ${written}`
        : "";
      const heard = `The model writes: ${run.written}`;
      if (this.heard.textContent !== heard) this.heard.textContent = heard;
      this.drawSide(view);
      this.light();
    }

    drawSide(view) {
      for (const tab of this.tabs) {
        const chosen = tab.dataset.tab === this.tab;
        tab.setAttribute("aria-selected", chosen);
        tab.tabIndex = chosen ? 0 : -1;
        this.panels[tab.dataset.tab].hidden = !chosen;
      }
      if (this.tab === "heads") this.grid.draw(view);
      if (this.tab === "changes") this.changing.draw(this.changes);
      if (this.tab !== "walk") return;
      const { steps } = this;
      const said =
        steps[this.at]?.say(view) ??
        `This is the model at the moment when it writes *${boxes.plain(view.ranked[0].piece)}*. ` +
          "Walk through it with the space bar or the arrow keys, open any box, or change it and see what it writes then.";
      if (this.said !== said)
        this.saying.replaceChildren(...rich((this.said = said)));
      this.count.textContent =
        this.at < 0
          ? `${steps.length} steps`
          : `Step ${this.at + 1} of ${steps.length}`;
      this.back.disabled = this.at < 0;
      this.on.textContent =
        this.at < 0
          ? "Begin"
          : this.at === steps.length - 1
            ? "Change it"
            : "Next";
      const box = this.figure.boxes?.find(({ id }) => id === this.open);
      if (!box) return;
      const act = {
        openHead: (place) => {
          this.head = place;
          this.draw();
        },
        silence: (place) => this.toggle(place),
        silenceUnit: (name, unit) => {
          const [change, id] = silentUnit(name, unit);
          this.change(this.changes.has(id) ? undefined : change, id);
        },
      };
      this.opened.replaceChildren(...boxes.contents(box, view, act));
    }

    /** Open a head, enlarged. */
    openHead(place) {
      Object.assign(this, { open: place.name, head: place, whole: true });
      this.choose("walk");
    }

    /** Go to a step of the walk. */
    go(step) {
      if (step < -1) return;
      if (step >= this.steps.length) return this.choose("changes");
      this.at = step;
      this.whole = false;
      this.pinned = undefined;
      const { box, head } = this.steps[step] ?? { box: this.decides.name };
      this.open = box;
      this.head = head === undefined ? undefined : { name: box, head };
      this.choose("walk");
    }

    choose(tab) {
      this.tab = tab;
      this.draw();
    }

    key(event) {
      const { key, target } = event;
      const tab = target.closest("[role=tab]");
      const step = { ArrowRight: 1, ArrowLeft: -1, " ": 1 }[key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      if (tab && key !== " ") {
        const next = this.tabs.at((this.tabs.indexOf(tab) + step) % 3);
        next.focus();
        return this.choose(next.dataset.tab);
      }
      if (target.closest(FIELDS)) return;
      if (key === " " && target.closest("button, a, summary")) return;
      event.preventDefault();
      this.go(this.at + step);
    }

    /** What is pointed at: a word, or an axis of a shape. */
    point({ target, clientY, type }) {
      if (!(target instanceof Element)) return;
      const axis = target.closest("[data-axis]")?.dataset.axis;
      for (const name of ["axis", "across", "down"])
        for (const part of this.place.querySelectorAll(`[data-${name}]`))
          part.classList.toggle(`op-${name}-lit`, part.dataset[name] === axis);
      const word = target.closest("[data-side]");
      if (word) {
        const { side, place } = word.dataset;
        return this.light({ side, place: Number(place) });
      }
      const rows = target.closest("[data-of]");
      if (rows && type !== "focusin") {
        const { top, height } = rows.getBoundingClientRect();
        const side = rows.dataset.of;
        const count = Number(rows.style.getPropertyValue("--rows"));
        const place = Math.floor((count * (clientY - top)) / height);
        return this.light({ side, place });
      }
      this.light();
    }

    /** Light a word everywhere, or the one that was chosen. */
    light(pointed) {
      const own = { side: "source", place: this.focusOn };
      const word = pointed ?? this.pinned ?? own;
      this.place.dataset.lit = word.side;
      this.place.style.setProperty("--at", word.place);
      for (const part of this.place.querySelectorAll("[data-side]")) {
        const { side, place } = part.dataset;
        part.classList.toggle(
          "op-lit",
          side === word.side && Number(place) === word.place,
        );
      }
      if (this.tab === "heads") this.grid.light(word);
      this.opened.querySelector(".op-big")?.light(word);
    }
  }

  (globalThis.inPage.show ??= {}).opened = (place) => new Opened(place);
})();
