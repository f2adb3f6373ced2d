/**
 * A Transformer that can be opened: a sentence, the figure of the model with
 * its numbers, a walk through it, all heads, and changes.
 */

import { contents, openedSay, plain, sideOf } from "./boxes.js";
import { ChangeForm, silentUnit } from "./change_form.js";
import * as changes from "./changes.js";
import {
  make,
  field,
  example,
  chips,
  share,
  chance,
  oneStop,
  joined,
  listed,
  rest,
} from "./elements.js";
import { Figure } from "./figure.js";
import * as film from "./film.js";
import { HeadGrid, nameOf } from "./heads.js";
import { Machine } from "./machine.js";
import { viewOf } from "./view.js";
import * as walk from "./walk.js";

const model = globalThis.inPage.models.opened;
const WAIT = 250; // ms after the last key before a sentence is read
const SCENE = 1500; // ms in which boxes fill, and in which a picture is seen
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const PRONOUN = /^▁(it|he|she|they)$/i;
const FIELDS = "input, textarea, select, pre, [role=region]"; // have keys of their own
const WORD = /[\p{L}\p{N}'-]+|\S/gu; // or a punctuation mark
const TABS = {
  walk: say("Walk"),
  heads: say("All heads"),
  changes: say("Change it"),
};

// by a small letter: "Next" is another word where it leads to a page
const NEXT = say("next").replace(/^./, (letter) => letter.toUpperCase());

/** Put other things into a place; the focus stays where it was. */
function refill(place, ...children) {
  const buttons = () => [...place.querySelectorAll("button, summary")];
  const at = buttons().indexOf(document.activeElement);
  place.replaceChildren(...children);
  if (at >= 0) buttons()[at]?.focus({ preventScroll: true });
}

/** Two sentences of the same words, and a switch for their positions. */
function inOrder(place) {
  const machine = (model.machine ??= new Machine(model));
  const list = make("ol", { role: "status" });
  const draw = () => {
    const off = positions.checked ? [] : [changes.positionsOff()];
    const lines = model.order.map((text) =>
      make(
        "li",
        {},
        make("span", { lang: "en" }, text),
        make("span", { lang: "de" }, machine.run(text, off).written),
      ),
    );
    list.replaceChildren(...lines);
  };
  const given = { type: "checkbox", checked: true, change: draw };
  const positions = make("input", given);
  place.classList.add("at-live");
  const label = make("label.at-row", {}, positions, say("positions"));
  place.querySelector(".at-still").after(list, label);
  draw();
}

class Opened {
  /** @type {Run} */ plain; // without changes
  /** @type {Run} */ run; // with those that are in force
  /** @type {View} */ view;
  /** @type {HTMLElement[]} */ tabs;
  /** @type {Record<string, HTMLElement>} */ panels;

  constructor(place) {
    this.place = place;
    this.small = place.classList.contains("at-small"); // five steps, no more
    this.machine = model.machine ??= new Machine(model);
    const { decoder, heads } = this.machine.model;
    const { layer, head } = model.decides;
    const name = `decoder.layers.${layer - 1}.cross_attention`;
    const decides = { name, head: head - 1 };
    this.sizes = { layers: decoder.length, heads, decides };
    /** @type {Map<string, Change>} */
    this.changes = new Map();
    const begins = (tab) => place.classList.contains(`begins-${tab}`);
    this.tab = Object.keys(TABS).find(begins) ?? "walk";
    this.at = -1; // no step yet
    this.open = name;
    this.whole = false; // the box was opened outside the walk
    /** @type {number | undefined} */
    this.bet = undefined; // a head
    this.moment = 0;
    this.focus = 0;
    /** @type {Head | undefined} */
    this.head = undefined;
    /** @type {Word | undefined} */
    this.pinned = undefined;
    this.figure = new Figure(({ id }) => this.openBox(id));
    this.grid = new HeadGrid((place) => this.openBox(place.name, place));
    this.changing = new ChangeForm(
      { ...this.sizes, d_k: model.config.d_k, donor: model.donor },
      (text) => this.doubts(text),
      (change, id) => this.change(change, id),
      (...given) => this.leaveOut(...given),
      (place) => this.view.without(place),
    );
    place.classList.add("at-live");
    place.querySelector(".at-still").after(this.form(), this.body());
    const listen = (kinds, act) =>
      kinds.forEach((kind) => place.addEventListener(kind, act));
    const point = (event) => this.point(event);
    listen(["pointerover", "pointermove", "focusin"], point);
    listen(["pointerleave"], () => this.lightWord());
    listen(["keydown"], (event) => this.key(event));
    const fit = () => this.figure.fits() || this.draw();
    new ResizeObserver(fit).observe(this.figure.element);
    addEventListener("resize", fit);
    new MutationObserver(() => this.draw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
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
    const examples = Object.entries(model.examples).map(([name, text]) =>
      example(name, text, () => this.take(text)),
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
      this.small
        ? ""
        : make(
            ".at-row.at-head",
            {},
            make("label.at-title", { for: "op-text" }, title),
            make(".op-examples", {}, say("Examples:"), ...examples),
          ),
      ...(this.small ? [] : [this.text, this.warning]),
      this.english,
      make(".op-out", {}, this.german, this.next),
      this.heard,
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
    const play = () => (this.playing ? this.draw() : this.play());
    const passing = { title: say("Watch the sentence go through, once") };
    this.film = make("button.op-do", { click: play, ...passing });
    this.opened = make(".op-opened", {});
    this.bets = make(".at-row", {});
    // above what is said, whose height varies
    const way = make(".at-row", {}, this.back, this.on, this.count);
    if (!this.small) way.append(this.film);
    const help = say(
      "Each square is the map of a head: rows are words that look, columns " +
        "words that are looked at. Choose a word to see its lines in every " +
        "head; open a head to enlarge it.",
    );
    const inside = {
      walk: [make(".op-card", {}, way, this.saying, this.bets), this.opened],
      heads: [make("p.op-small", {}, help), this.grid.element],
      changes: [this.changing.element, this.before],
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
    const list = { role: "tablist", "aria-label": say("What to do") };
    return make(
      ".op-body",
      { role: "group", "aria-label": say("The model") },
      this.figure.window,
      make(
        ".op-side",
        {},
        make(".op-tabs", list, ...this.tabs),
        ...Object.values(this.panels),
      ),
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
    const words = first.sentence.toLowerCase().match(WORD) ?? [];
    const never = [...new Set([...words, ...first.unknown])]
      .filter((word) => !model.words.includes(word))
      .map((word) => `“${word}”`);
    const only = second && say("Only the first sentence is read. ");
    const unknown =
      never.length > 0 &&
      say(
        "The model has never seen {}: do not rely on what it writes.",
        listed(never, "disjunction"),
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
    this.pinned = undefined;
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
    this.run = active.length
      ? this.machine.run(this.sentence, active)
      : this.plain;
    this.changing.forget();
    this.draw();
  }

  /** Put a change in, or take the one with this id out. */
  change(change, id) {
    if (change) this.changes.set(id, change);
    else this.changes.delete(id);
    clearTimeout(this.due);
    this.due = setTimeout(() => this.compute()); // several come at once
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
      ...[this.sentence, why],
    );
    const same = written === this.run.written;
    this.change(change, change.id); // first, or its box is checked again
    if (!same) return;
    this.take(needs);
    this.warning.textContent = said;
  }

  /** Put a change in if it is not, or take it out. */
  toggle(change) {
    const { id } = change;
    this.change(this.changes.has(id) ? undefined : change, id);
  }

  /** The sentence goes through the boxes once, where things may move. */
  async play() {
    this.at = -1;
    this.draw();
    const scenes = film.scenes(this.view);
    const still = calm.matches;
    const pictures = scenes.map(({ element }) => element);
    for (const one of pictures) one.classList.toggle("op-to-come", !still);
    const strip = make(".op-film", { role: "status" }, ...pictures);
    this.opened.replaceChildren(strip);
    this.light();
    strip.scrollIntoView({ block: "nearest" });
    if (still) return;
    this.film.textContent = say("Stop");
    const playing = (this.playing = {});
    let reached = -1;
    for (const { box, element } of scenes) {
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
    this.playing = undefined;
    this.film.textContent = say("Play");
  }

  /** Draw all that is to be seen. */
  draw() {
    this.stop();
    const { run, sizes, focus, pinned, head, at, open, bet } = this;
    const moment = Math.min(this.moment, run.target.length - 1);
    const chosen = { sizes, focus, pinned, head, moment, bet };
    const { cells } = model;
    this.view = viewOf(this.machine, run, { ...chosen, cells });
    const walking = this.tab === "walk" && at >= 0 && !this.whole;
    const step = walking ? this.steps(sizes)[at] : undefined;
    const reached = step && !step.bet ? this.figure.indexOf(open) : Infinity;
    this.figure.draw(this.view, { open, reached });
    this.figure.ride(step && this.box, this.view);
    this.drawSentences();
    for (const tab of this.tabs) {
      const chosen = tab.dataset.tab === this.tab;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
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
      ...{ "data-side": side, "data-place": place, click },
    });
    const english = (_, place) =>
      word("source", place, () => {
        this.pinned = { side: "source", place };
        this.draw();
      });
    const german = (piece, i) => {
      const click = () => {
        Object.assign(this, { moment: i, pinned: undefined });
        this.changing.forget();
        this.draw();
      };
      const label = say("{}: look at this step", plain(piece));
      const state = { "aria-pressed": `${i === view.moment}` };
      return {
        ...word("target", i + 1, click),
        ...state,
        "aria-label": label,
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
    this.before.textContent =
      before && say("Now: {} Before your changes: {}", run.written, before);
    const heard = say("The model writes: {}", run.written);
    if (this.heard.textContent !== heard) this.heard.textContent = heard;
  }

  /** The box that is open, as soon as there is room for the figure. */
  get box() {
    return this.figure.boxes[this.figure.indexOf(this.open)];
  }

  /** The steps of the walk here. */
  steps(view) {
    return walk.steps(view).filter(({ short }) => short || !this.small);
  }

  /** What is said before the walk. */
  beginning() {
    const begins = say(
      "This is the model at the moment when it writes {}. Walk through it " +
        "with Next, or open a box.",
      walk.spoken(this.view.ranked[0].piece),
    );
    if (this.small) return begins;
    const more = say("Then change something, and see what it writes.");
    return joined(begins, more);
  }

  /** The step of the walk, and the box that is open. */
  drawStep() {
    const { at, view } = this;
    const steps = this.steps(view);
    const { box } = this;
    const said =
      (this.whole && box && openedSay(box)) ||
      (steps[at]?.say(view) ?? this.beginning());
    if (this.said !== said)
      this.saying.replaceChildren(...walk.rich((this.said = said)));
    const first = at < 0;
    this.count.textContent = first
      ? say("{} steps", steps.length)
      : say("Step {} of {}", at + 1, steps.length);
    const offered = !this.whole && steps[at]?.bet && this.bet === undefined;
    const heads = Array.from({ length: offered ? view.heads : 0 }, (_, i) => {
      const click = () => {
        this.bet = i;
        this.draw();
        this.on.focus();
      };
      const place = { name: steps[at].box, head: i };
      return make("button.op-do", { click }, nameOf(place));
    });
    refill(this.bets, ...heads);
    this.back.setAttribute("aria-disabled", first);
    const end = at === steps.length - 1;
    const last = this.small ? say("Again") : TABS.changes;
    this.on.textContent = end ? last : NEXT;
    if (!box) return;
    const act = {
      openHead: (place) => this.openBox(box.id, place),
      silence: ({ name, head }) =>
        this.toggle(this.changing.silences(name)[head]),
      silenceUnit: (name, unit) => this.toggle(silentUnit(name, unit)),
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
    const steps = this.steps(this.sizes);
    if (at < 0) return;
    if (at >= steps.length) {
      if (this.small) this.go(0);
      else {
        this.choose("changes");
        this.tabs[this.tabs.length - 1].focus();
      }
      return;
    }
    const { box: open, head: number } = steps[at];
    const head = number === undefined ? number : { name: open, head: number };
    Object.assign(this, { at, open, head, whole: false });
    Object.assign(this, { pinned: undefined, bet: undefined });
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
    /** @type {(selector: string) => HTMLElement | null} */
    const around = (selector) => target.closest(selector);
    const { axis } = around("[data-axis]")?.dataset ?? {};
    for (const name of axis === this.axis ? [] : ["axis", "across", "down"])
      for (const part of this.place.querySelectorAll(`[data-${name}]`))
        part.classList.toggle(`op-${name}-lit`, part.dataset[name] === axis);
    this.axis = axis;
    const rows = type !== "focusin" && around("[data-of]");
    const { side, place } = around("[data-side]")?.dataset ?? {};
    /** @type {{side?: string, place: number} | undefined} */
    let word = side ? { side, place: Number(place) } : undefined;
    if (!word && rows) {
      const { top, height } = rows.getBoundingClientRect();
      const count = Number(rows.style.getPropertyValue("--rows"));
      const place = Math.floor((count * (clientY - top)) / height);
      word = { side: rows.dataset.of, place };
    }
    const same = ["side", "place"].every(
      (key) => word?.[key] === this.word?.[key],
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
      const { side, place } = part.dataset;
      const same = side === word.side && Number(place) === word.place;
      part.classList.toggle("op-lit", same);
    }
    if (this.tab === "heads") this.grid.light(word);
    this.opened.querySelector(".op-big")?.light?.(word);
  }
}

export { changes };
export const show = (place) =>
  place.matches(".at-order") ? inOrder(place) : new Opened(place);
