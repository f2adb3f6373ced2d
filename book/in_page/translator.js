/**
 * What the reader sees and does. The model is asked for one step at a time;
 * every step stays at hand, so that one can go back to it and look at what
 * else might have been written, and at what each head attended to.
 */

import { AttentionView } from "./attention.js";
import { Translator } from "./beam_search.js";
import { make, rest, share, digits, chance, named } from "./elements.js";
import { chips, example, joined, listed } from "./elements.js";
import { sentences } from "./sentences.js";
import { END } from "./tokenizer.js";

const models = globalThis.inPage.models.translator;
const WORD = /[\p{L}\p{N}'-]+|\S/gu; // or a punctuation mark
const STATES = { finished: say("finished"), closed: say("closed") };
const PATIENCE = 50; // ms of work after which the page may answer

/** One of some options, by labels and values. */
function choice(title, name, options, change, chosen = 0) {
  const radio = ([label, value], i) => {
    const given = { type: "radio", name, value, checked: i === chosen };
    return make("label", {}, make("input", { ...given, change }), label);
  };
  const legend = make("legend", {}, title);
  return make("fieldset.at-search", {}, legend, ...options.map(radio));
}

class Widget {
  /** @type {PackedTranslator} */ model;
  /** @type {Translator} */ translator;
  /** @type {string[]} */ pieces; // by token
  /** @type {string} */ typed;
  /** @type {AttentionRun} */ shown; // of the sentences that were read
  /** @type {AttentionView} */ attention;

  constructor(place) {
    this.run = 0; // a new translation ends the one before
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
    const examples = Object.entries(model.examples).map(([name, text]) =>
      example(name, text, () => {
        this.text.value = text;
        this.translate();
      }),
    );
    this.examples.replaceChildren(say("Examples:"), ...examples);
    const { decoder, heads } = this.translator.model;
    const [layer, head] = model.cross;
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
      },
    });
    this.examples = make(".at-examples", {});
    const searches = [
      [say("greedy"), 1],
      [say("beam of 5"), 5],
    ];
    this.search = choice(say("Search"), "at-search", searches, () =>
      this.translate(),
    );
    const labels = models.map(({ label }, i) => [say(label), i]);
    this.modelChoice = choice(say("Model"), "at-model", labels, ({ target }) =>
      this.use(models[target.value], this.own()),
    );
    this.modelChoice.hidden = models.length === 1;
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
        make(
          "label.at-title",
          { for: "at-text" },
          say("A sentence in English"),
        ),
        this.examples,
      ),
      this.text,
      make(
        ".at-row",
        {},
        make("button.at-main", { type: "submit" }, say("Translate")),
        this.search,
        this.modelChoice,
      ),
    );
  }

  /** The reader's own sentence, if it is none of the examples. */
  own() {
    const text = this.text.value.trim();
    const examples = Object.values(this.model.examples);
    return text && !examples.includes(text) ? text : undefined;
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
      input: () => this.look(),
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
      make(".at-columns", {}, this.candidates, this.beam),
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
      this.panel,
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
    for (;;) {
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
        say("The model cannot read these signs: {}. ", [...unknown].join(" ")),
      );
    if (!runs.length) {
      this.output.textContent = text;
      this.note.textContent = text ? "" : say("Type a sentence first.");
      return;
    }
    const tell = (name, lang, what) =>
      this.reading.append(
        make("p.at-note", {}, name, make("span", { lang }, what)),
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
      ...[position, (spent / 1000).toFixed(2), digits(logP, 2)],
      ...[digits(logP / position, 2), digits(score, 2)],
    );
    this.warn(all, logP / position);
    const last = runs.length - 1;
    const numbers = runs.map((_, i) => [i + 1, i]);
    const change = ({ target }) => this.show(runs[target.value]);
    const which = choice(say("Sentence"), "at-which", numbers, change, last);
    this.sentences.replaceChildren(...(last ? [which] : []));
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
        tabindex: -1, // the slider does the same for the keyboard
        click: step(i),
      })),
    );
    this.step.max = target.length;
    this.step.value = 1 + this.telling();
    this.look();
  }

  /** Say why the output may be wrong, and offer the model that fits. */
  warn(text, each) {
    const words = [...new Set(text.toLowerCase().match(WORD))];
    const strange = (model) =>
      words.filter((word) => model.words && !model.words.includes(word));
    const never = strange(this.model).map((word) => `“${word}”`);
    const { usual, kind } = this.model;
    if (never.length)
      this.warning.append(
        say(
          "Do not rely on this translation: the model has never seen {}. ",
          listed(never, "disjunction"),
        ),
      );
    else if (each < usual) {
      const like = say(kind);
      this.warning.append(
        say(
          "Do not rely on this translation: its log-probability per subword " +
            "is below {}, which 19 of 20 {} reach. ",
          ...[digits(usual, 2), like],
        ),
      );
    }
    const fits =
      models.find((model) => model.words && !strange(model).length) ??
      models.find((model) => !model.words);
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
    const named = (piece) => this.model.pieces.includes(piece);
    const { target, best } = this.shown;
    if (target.some(named)) return target.findIndex(named);
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
      say("{} of {}, {}", at + 1, target.length, piece),
    );
    [...this.output.children].forEach((chip, i) => {
      chip.classList.toggle("at-now", i === at);
      chip.classList.toggle("at-later", i > at);
    });
    const node = best.node.way[at]; // what is read before the piece
    const bars = node.candidates.map(({ token, p }) =>
      make(
        token === best.node.way[at + 1].token ? "li.at-now" : "li",
        share(p),
        make("span", { lang: "de" }, ...named(this.pieces[token])),
        make("span.at-p", {}, chance(p)),
      ),
    );
    this.candidates.replaceChildren(
      make("p.at-title", {}, say("What may come here, with probability")),
      make("ol.at-bars", {}, ...bars),
      ...this.barred(node.candidates, best.node.way[at + 1].token),
    );
    this.showBeam(at);
    this.attention.show(this.shown, at);
  }

  /** Why likelier subwords than the one that is written are not. */
  barred(candidates, chosen) {
    const pieces = candidates
      .slice(
        0,
        candidates.findIndex(({ token }) => token === chosen),
      )
      .filter(({ barred }) => barred)
      .map(({ token }) => this.pieces[token]);
    const why = say(
      "The search does not write {} here: the same {} subwords in a row would " +
        "come twice.",
      ...[listed(pieces), this.translator.noRepeat],
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
      const ended = ids.at(-1) === END ? " </s>" : "";
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
          [STATES[state], digits(logP, 2)].filter(Boolean).join(" "),
        ),
      );
    });
    this.beam.append(
      make("p.at-title", {}, say("The beam now, with log-probabilities")),
      make("ol.at-beam", {}, ...rows),
    );
    if (step.finished.length === 0) return;
    const ended = step.finished.map(({ tokens, score }) => {
      const text = this.translator.tokenizer.decode(tokens) || "</s>";
      return say("“{}” with the score {}", text, digits(score, 2));
    });
    const closed = step.places.some(({ state }) => state === "closed");
    const all = ended.join(say("; "));
    const kept = say(
      "What is finished keeps its place in the beam until the search ends.",
    );
    const taken = closed && say("Closed: its place is taken in this way.");
    const notes = [say("Finished so far: {}.", all), joined(kept, taken)];
    this.beam.append(...notes.map((note) => make("p.at-note", {}, note)));
  }
}

export { Translator, sentences };
export const show = (place) => new Widget(place);
