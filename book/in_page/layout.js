/**
 * Where the boxes of the paper's figure stand, from the bottom up: pure
 * numbers, for a model of some layers and a figure of some width. A box has
 * the name of what leaves it (see model.js), and of what it reads.
 */

const BIG = [28, 38]; // heights: a sub-layer's least and most,
const SMALL = [20, 24]; // a box between two, by a mouse and by a finger
const GAP = 4;
const HEAD = 8; // what says which layer it is
const FOOT = 18; // what says what comes in
const RAIL = 11; // beside the boxes, for the residual

/**
 * The boxes of a stack, from the bottom up; they have no places yet.
 * @param {Box["side"]} side
 * @param {number} layers
 */
function stack(side, layers) {
  const encoder = side === "encoder";
  const input = encoder ? "source" : "target";
  /** @type {Box[]} */
  const boxes = [];
  const none = { x: 0, y: 0, width: 0, height: 0 };
  const add = (id, kind, title, more) =>
    boxes.push({ id, kind, title, side, ...none, ...more });
  add(`${input}.tokens`, "embedding", say("Embedding"), { big: true });
  const wave = { reads: `${input}.tokens`, adds: `${input}.positions.table` };
  add(input, "positions", say("Positions"), wave);
  const attentions = encoder
    ? [["around_attention", "self_attention", say("Self-attention")]]
    : [
        ["around_self", "self_attention", say("Masked attention")],
        ["around_cross", "cross_attention", say("Cross-attention")],
      ];
  const sublayers = [
    ...attentions,
    ["around_feed_forward", "feed_forward", say("Feed-forward")],
  ];
  const order = [...Array(layers).keys()].flatMap((layer) =>
    sublayers.map(([around, part, title]) => ({
      layer,
      part,
      title,
      name: `${side}.layers.${layer}.${around}`,
    })),
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

/**
 * The figure: its height, boxes with x, y, width and height, frames around
 * layers, and wires as lists of points.
 * @param {number} width
 * @param {number} layers
 * @param {number} room the height that it should not exceed
 * @returns {Layout}
 */
export function layout(width, layers, room) {
  const placed = (big) =>
    arranged(width, layers, big, SMALL[room === Infinity ? 1 : 0]);
  const [least, most] = BIG;
  const count = stack("decoder", layers).filter(({ big }) => big).length;
  const spare = Math.floor((room - placed(least).height) / count);
  return placed(Math.max(least, Math.min(most, least + spare)));
}

/** The same with heights for the large boxes and the others. */
function arranged(width, layers, big, small) {
  const between = Math.max(24, 0.1 * width); // for the way of the memory
  const column = (width - between) / 2;
  const boxes = [];
  const frames = [];
  const wires = [];
  let top = 0; // heights are negative until all are known
  /** @type {[Box["side"], number][]} */
  const stacks = [
    ["encoder", 0],
    ["decoder", column + between],
  ];
  for (const [side, left] of stacks) {
    const encoder = side === "encoder";
    const rail = encoder ? left + RAIL / 2 + 2 : left + column - RAIL / 2 - 2;
    const x = encoder ? left + RAIL + 5 : left + 5;
    const wide = column - RAIL - 10;
    let y = 0;
    let frame;
    let last;
    const ends = {}; // of the residual: where a box is in the middle
    for (const box of stack(side, layers)) {
      if (frame && box.layer !== frame.layer) {
        frame.y = y -= HEAD;
        y -= GAP + 2;
        frame = undefined;
      }
      if (box.layer !== undefined && !frame) {
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
            [middle, y + height],
          ],
        });
      ends[box.id] = y + height / 2;
      if (box.kind === "add") {
        const [from, to] = [ends[box.reads], ends[box.id]];
        const edge = encoder ? x : x + wide;
        const points = [
          [edge, from],
          [rail, from],
          [rail, to],
          [edge, to],
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
  const [memory] = boxes.filter(({ kind }) => kind === "memory");
  for (const box of boxes.filter(({ part }) => part === "cross_attention"))
    for (const [i, kind] of ["keys", "values"].entries()) {
      const edge = memory.x + memory.width;
      const from = memory.y + memory.height / 2 + 8 * i - 4;
      const to = box.y + box.height / 2 + 8 * i - 4;
      const turn = column + between * (0.62 - 0.3 * i);
      const points = [
        [edge, from],
        [turn, from],
        [turn, to],
        [box.x, to],
      ];
      wires.push({ kind, points });
    }
  return { height: FOOT - top, boxes, frames, wires };
}
