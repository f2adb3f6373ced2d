/** What the reader can change, and what has been changed. */

import * as changes from "./changes.js";
import { make, field, share, oneStop } from "./elements.js";
import { attentions, titleOf, nameOf } from "./heads.js";

const HUNGRY = "The dog ate the soup because it was hungry.";

/** A box that is checked as long as nothing is changed. */
const switchOn = (given) =>
  make("input", { type: "checkbox", checked: true, ...given });

export class ChangeForm {
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
    /** @type {Map<string, Change>} */
    this.active = new Map();
    this.switches = new Map(); // by the ids of changes
    this.alls = new Map(); // by the names of attentions
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
        this.set(undefined, id);
        this.table.querySelector("input").focus(); // this button goes
      };
      const undo = say("Undo: {}", label);
      const given = { click, "aria-label": undo };
      return make(
        "li",
        {},
        `${label} `,
        make("button.at-quiet", given, say("undo")),
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
      ...changes.silence(name, head, heads),
      label: say("{} is silent", nameOf({ name, head })),
      name,
      head,
    }));
  }

  build() {
    this.list = make("ul.op-list", {});
    this.none = make("p.at-note", {}, say("Nothing is changed."));
    const clear = () => {
      for (const id of [...this.active.keys()]) this.set(undefined, id);
    };
    this.undo = make("button.at-quiet", { click: clear }, say("undo all"));
    this.element.replaceChildren(
      this.headSwitches(),
      this.rest(),
      this.patching(),
      // last, where what comes and goes moves nothing
      make(".op-active", {}, this.none, this.list, this.undo),
    );
  }

  /** A switch for each head, and one for all of an attention. */
  headSwitches() {
    const rows = attentions(this.sizes.layers).map((name) => {
      const all = this.silences(name);
      const cells = all.map((change) => {
        const { id } = change;
        const label = nameOf(change);
        const box = switchOn({
          "aria-label": label,
          change: () => this.set(box.checked ? undefined : change, id),
        });
        this.switches.set(id, box);
        return make("td", { "data-id": id }, make("label", {}, box));
      });
      const label = say("{}, all heads", titleOf(name));
      const whole = switchOn({
        "aria-label": label,
        change: () => {
          for (const change of all)
            this.set(whole.checked ? undefined : change, change.id);
        },
      });
      this.alls.set(name, whole);
      const title = make("th", { scope: "row" }, titleOf(name));
      return make(
        "tr",
        {},
        title,
        ...cells,
        make("td", {}, make("label", {}, whole)),
      );
    });
    const columns = ["", "1", "2", "3", "4", say("all")].map((text) =>
      make(text ? "th" : "td", text ? { scope: "col" } : {}, text),
    );
    this.table = make(
      "table.op-switches",
      {},
      make("caption", {}, say("Heads: clear a box to silence one")),
      make("thead", {}, make("tr", {}, ...columns)),
      make("tbody", {}, ...rows),
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
      "Try each head: how likely is the next subword without it?",
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
      ...places.map((place, i) => make("option", { value: i }, nameOf(place))),
    );
    head.value = places.findIndex(
      ({ name, head }) =>
        name === this.sizes.decides.name && head === this.sizes.decides.head,
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
      const change = changes.patch(name, number, this.sizes.heads, from);
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
        say("Patch a head: give it what it finds in another sentence"),
      ),
      donor,
      warning,
      make(".at-row", {}, head, make("button.op-do", { click }, say("Patch"))),
    );
  }

  /** Parts of the model, and the temperature; units are in their boxes. */
  rest() {
    const { d_k } = this.sizes;
    /** @type {[title: string, change: Change, needs: string, why: string][]} */
    const kinds = [
      [
        say("the mask"),
        changes.maskOff(),
        "The kid wakes up in the shop.",
        say(
          "in training the mask hides the answer; a decoder that writes subword " +
            "by subword has nothing after the last one to look at",
        ),
      ],
      [
        say("positions"),
        changes.positionsOff(),
        "The dog bit the man.",
        say("its words fit together in one order alone"),
      ],
      [
        say("division by √{}", d_k),
        changes.scaleOff(d_k),
        "While she is hungry, the doctor eats carrots.",
        say(
          "larger scores only make a head surer, and here it was sure of the " +
            "right word",
        ),
      ],
    ];
    const suffices = say("what is left suffices");
    kinds.push(
      [say("residual"), changes.residualOff(), HUNGRY, suffices],
      [say("norm"), changes.normOff(), HUNGRY, suffices],
      [say("feed-forward"), changes.feedForwardOff(), HUNGRY, suffices],
    );
    const parts = kinds.map(([title, change, needs, why]) => {
      const part = `${title[0].toUpperCase()}${title.slice(1)}`;
      const label = say("{}: left out", part);
      const box = switchOn({
        change: () =>
          box.checked
            ? this.set(undefined, change.id)
            : this.leaveOut({ ...change, label }, needs, why),
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
        const change = { ...changes.temperature(degree), label, degree };
        this.set(degree === 1 ? undefined : change, change.id);
      },
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
        this.said,
      ),
    );
  }
}

/** The change that silences a unit of a network. */
export function silentUnit(name, unit) {
  const change = changes.silenceUnit(name, unit);
  const label = say("{}, unit {} is silent", titleOf(name), unit + 1);
  return { ...change, label, name, unit };
}
