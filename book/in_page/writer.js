/**
 * What the reader of the writer sees and does: the model writes letter by
 * letter, and while it rests, the reader may choose the next one.
 */

import { uniform } from "./arithmetic.js";
import { make, rest, chance } from "./elements.js";
import { Model, Node } from "./model.js";
import { Writer } from "./sample.js";

const model = globalThis.inPage.models.writer;
const PACE = 25; // ms from letter to letter
const LIMIT = 500; // letters after which it rests by itself
const SHOWN = 5; // candidates
const NAMES = {
  "</s>": "end of speech",
  "\n": "end of line",
  "▁": "space",
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");

class Widget {
  writing = false;
  count = 0; // letters that were written
  chosen = 0; // of these, by the reader
  spent = 0; // ms
  /** @type {HTMLElement[]} */ buttons; // of the candidates
  /** @type {(logP: number[]) => number[]} */ allowed; // by the options

  constructor(place) {
    this.run = 0; // writing ends when another run has begun
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
    const button = (tag, text, click) => make(`button.${tag}`, { click }, text);
    const begin = () => this.begin();
    const again = () => {
      this.begin();
      this.write();
    };
    const example = ([name, text]) =>
      button("at-quiet", name, () => {
        this.beginning.value = text;
        this.begin();
      });
    const beginnings = Object.entries(model.beginnings);
    const lines = { rows: 2, maxlength: 240, spellcheck: "false" };
    this.beginning = make(
      "textarea",
      { id: "at-beginning", input: begin, ...lines },
      beginnings[0][1],
    );
    const options = make(".widget-controls", {});
    this.allowed = samplingOptions(options, () => this.look(), 0.8);
    const number = { type: "number", min: 0, max: 999999, value: 1 };
    this.seed = make("input", { id: "at-seed", input: begin, ...number });
    const label = make("label", { for: "at-seed" }, "seed");
    this.button = button("at-main", "Write", () =>
      this.writing ? this.stop() : this.write(),
    );
    return make(
      ".at-form",
      {},
      make(
        ".at-row.at-head",
        {},
        make("label.at-title", { for: "at-beginning" }, "How it begins"),
        make(".at-examples", {}, "Examples:", ...beginnings.map(example)),
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
        }),
      ),
    );
  }

  /** What is answered: the text, and what may come next. */
  result() {
    const given = { tabindex: 0, role: "region", "aria-label": "The text" };
    this.page = make(".at-page", given);
    this.said = make("p.visually-hidden", { role: "status" });
    this.note = make("p.at-note.at-count", {});
    this.buttons = Array.from({ length: SHOWN }, (_, i) => {
      const click = () => this.choose(i);
      return make("button", { click });
    });
    const items = this.buttons.map((button) => make("li", {}, button));
    this.candidates = make(
      "section.at-next",
      { "aria-label": "The next character" },
      make("p.at-title", {}, "Or choose the next:"),
      make("ol.at-bars", {}, ...items),
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
    this.line = text.split("\n").at(-1); // what will be read aloud
    this.unseen = ""; // written, but not yet on the page
    const strange = tokenizer
      .split(text)
      .filter((piece) => !tokenizer.ids.has(piece));
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
    this.note.textContent = this.count
      ? `${this.count} characters${own}; each takes ${pace} ms to compute.`
      : "";
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
      this.page.append((last = make(`span.${by}`)));
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
        make("span.at-p", {}, p),
      );
    });
  }
}

export { Model, Node, Writer, uniform };
export const show = (place) => new Widget(place);
