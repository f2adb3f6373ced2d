/**
 * All heads at once: a thumbnail of each map, with the lines of the word
 * that is pointed at. A head is {name, head}: its attention and its number.
 */

import { arcs } from "./arcs.js";
import { make, oneStop } from "./elements.js";
import { paintMap, rowsOf } from "./strips.js";

// Where an attention is, in a title and in a head's name.
const STACKS = {
  encoder: [say("Encoder"), say("encoder")],
  decoder: [say("Decoder"), say("decoder")],
  cross: [say("Cross"), say("cross")],
};

/** The stack of an attention, as STACKS has it, and its layer, from 1. */
function placeOf(name) {
  const [side, , layer, part] = name.split(".");
  const stack = part === "cross_attention" ? "cross" : side;
  return [...STACKS[stack], Number(layer) + 1];
}

/** "Encoder, layer 2": the attention of this name. */
export function titleOf(name) {
  const [stack, , layer] = placeOf(name);
  return say("{}, layer {}", stack, layer);
}

/** "encoder 2.1": the first head of the encoder's attention in layer 2. */
export function nameOf({ name, head }) {
  const [, stack, layer] = placeOf(name);
  return `${stack} ${layer}.${head + 1}`;
}

/**
 * Whose places the queries and the keys of an attention are.
 * @param {string} name
 * @returns {[queries: Side, keys: Side]}
 */
export const sidesOf = (name) => [
  name.startsWith("encoder") ? "source" : "target",
  /encoder|cross/.test(name) ? "source" : "target",
];

/** The names of all attentions, in the order in which they are passed. */
export const attentions = (layers) =>
  [
    ["encoder", "self_attention"],
    ["decoder", "self_attention"],
    ["decoder", "cross_attention"],
  ].flatMap(([side, part]) =>
    [...Array(layers).keys()].map((l) => `${side}.layers.${l}.${part}`),
  );

/** The weights of a head: a row for each query. */
export const mapOf = (seen, { name, head }) =>
  seen[`${name}.weights`].map((heads) => heads[head]);

/** A map and the lines of one word on it. */
export function thumbnail(view, place) {
  const [queries, keys] = sidesOf(place.name);
  const rows = mapOf(view.seen, place);
  const [room, wide] = [view.room[queries], view.room[keys]];
  const canvas = paintMap(make("canvas", {}), rows, room, wide);
  const box = make(".op-thumb.op-rows", rowsOf(queries, room, keys), canvas);
  /** @param {Partial<Word>} word */
  box.light = ({ side, place: at = -1 } = {}) => {
    box.querySelector("svg")?.remove();
    const into = side !== queries && side === keys; // who looks at it?
    const column = into && rows.map((row) => row[at] ?? 0);
    const weights = side === queries ? rows[at] : column;
    box.classList.toggle("op-lines", Boolean(weights));
    const places = { at, rows: room, columns: wide, into };
    if (weights) box.append(arcs(weights, places));
  };
  return box;
}

/** The table of all heads: a column for each attention. */
export class HeadGrid {
  /** @param {(place: Head) => void} open called by a click */
  constructor(open) {
    this.open = open;
    /** @type {Lit[]} */
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
            "aria-label": off
              ? say("{}, changed: open", label)
              : say("{}: open", label),
            title: label,
            click: () => this.open({ name, head }),
          },
          thumb,
        );
      });
      const [stack, , number] = placeOf(name);
      const layer = say("layer {}", number);
      const title = make("p.op-small", {}, stack, make("br"), layer);
      return make(".op-column", {}, title, ...buttons);
    });
    this.element.replaceChildren(...columns);
  }

  /** Draw the lines of the word that is pointed at: {side, place}. */
  light(word) {
    for (const thumb of this.thumbs) thumb.light(word);
  }
}
