/**
 * The figure: the boxes of layout.js as buttons, each with the numbers of the
 * sentence in it, and the wires between them.
 */

import { shape } from "./arcs.js";
import { plain, sideOf, SIDES } from "./boxes.js";
import { make, chance, share, oneStop } from "./elements.js";
import { mapOf, sidesOf } from "./heads.js";
import { layout } from "./layout.js";
import { paint, paintMap, rowsOf } from "./strips.js";

const OTHERS = 160; // of the window: the page's bar, and the sentences

export class Figure {
  /** @param {(box: Box) => void} open called by a click on a box */
  constructor(open) {
    this.open = open;
    this.width = this.room = 0;
    /** @type {Box[]} */
    this.boxes = []; // none before there is room
    /** @type {HTMLElement[]} */
    this.buttons = [];
    this.element = oneStop(make(".op-figure", {}));
    this.rider = make("span.op-rider", { "aria-hidden": true, hidden: true });
    this.window = make(".op-window", {}, this.element); // on a phone, a part
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
    return !width || (width === this.width && room === this.room);
  }

  /** Draw boxes and wires anew, as large as there is room. */
  place(layers) {
    if (this.fits()) return;
    const { width, room } = Object.assign(this, this.size);
    const { height, boxes, frames, wires } = layout(width, layers, room);
    this.boxes = boxes;
    this.element.style.height = `${height}px`;
    const at = ({ x, y, width, height }) => ({
      style:
        `left: ${x}px; top: ${y}px; ` +
        `width: ${width}px; height: ${height}px`,
    });
    const lines = wires.map(({ kind, points }) =>
      shape("polyline", { points: points.join(" "), class: `op-${kind}` }),
    );
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    const svg = shape("svg", { ...size, "aria-hidden": true }, ...lines);
    const drawn = frames.map((frame) =>
      make(`.op-frame.op-${frame.side}`, at(frame)),
    );
    const titles = frames.map(({ side, layer, x, y }) => {
      const title =
        side === "encoder"
          ? say("Encoder layer {}", layer + 1)
          : say("Decoder layer {}", layer + 1);
      return make(
        ".op-layer",
        { style: `left: ${x + 8}px; top: ${y - 7}px` },
        title,
      );
    });
    this.buttons = boxes.map((box) => {
      const stack = SIDES[box.side];
      const label =
        box.layer === undefined
          ? say("{}, {}: open", box.title, stack)
          : say("{}, {}, layer {}: open", box.title, stack, box.layer + 1);
      const given = {
        "aria-label": label,
        click: () => this.open(box),
        ...at(box),
      };
      const kind = `op-${box.side}.op-is-${box.kind}`;
      const size = box.big ? "op-large" : "op-slim";
      return make(`button.op-box.${kind}.${size}`, given);
    });
    const below = boxes
      .filter(({ kind }) => kind === "embedding")
      .map((box) => {
        const style = `left: ${box.x}px; top: ${box.y + box.height}px`;
        const english = sideOf(box) === "source";
        const text = english ? say("English") : say("German so far");
        return make("span.op-foot", { style }, text);
      });
    const [memory] = boxes.filter(({ kind }) => kind === "memory");
    const [blue, orange] = [say("blue"), say("orange")];
    const legend = make(
      "p.op-legend",
      { style: `left: ${memory.x}px; width: ${memory.width}px` },
      ...phrase(
        "A row of colour is a word: {} is below zero, {} above. Four small " +
          "squares are the maps of four heads: the darker, the more weight.",
        make("b", {}, blue),
        make("b", {}, orange),
      ),
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
        this.inside(box, view),
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
    this.buttons.forEach((button, i) =>
      button.classList.toggle("op-ahead", i > reached),
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
    /** @type {HTMLElement | null} */
    const rows = button.querySelector(".op-rows");
    const share = rows ? (at + 0.5) / view.room[side] : 0.5;
    const { offsetTop, offsetHeight } = rows ?? button;
    const encoder = box.side === "encoder";
    const left = box.x + (encoder ? box.width : 0);
    const top = (rows ? box.y : 0) + offsetTop + share * offsetHeight;
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
      const sums = Array.from({ length: 64 }, (_, i) =>
        Math.max(...row.slice(20 * i, 20 * i + 20)),
      );
      return make(".op-strips", {}, paint(canvas(), [sums]));
    }
    const strip = (name) => {
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
    return make(".op-strips", {}, ...[...inner, box.id].map(strip));
  }
}
