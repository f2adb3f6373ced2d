/**
 * One sentence goes through the model, in four scenes: a word looks at all
 * others; so does every word, at once; the memory; and the next word.
 */

import { arcs } from "./arcs.js";
import { make, chance } from "./elements.js";
import { sidesOf, mapOf, nameOf } from "./heads.js";
import { labels, paint, rowsOf } from "./strips.js";
import { look, spoken, rich } from "./walk.js";

/** What some words look at, in a head. */
function lines(view, place, queries) {
  const [from, to] = sidesOf(place.name);
  const weights = mapOf(view.seen, place);
  const [rows, columns] = [view.pieces[from], view.pieces[to]];
  const size = { rows: rows.length, columns: columns.length };
  const all = queries.map((at) => arcs(weights[at], { at, ...size }));
  const between = make(".op-canvas", {}, ...all);
  return [labels(from, rows), between, labels(to, columns)];
}

/** The row of each word of the source, as the memory has it. */
function memory(view) {
  const { source } = view.pieces;
  const picture = paint(make("canvas", {}), view.seen["encoder.norm"]);
  const lit = rowsOf("source", source.length, "d_model");
  const rows = make(".op-canvas.op-rows", lit, picture);
  return [labels("source", source), rows];
}

/**
 * The scenes: each fills the boxes up to `box`, and then shows a picture.
 * @param {View} view
 * @returns {Scene[]}
 */
export function scenes(view) {
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
        ...[spoken(pieces.source[focus]), nameOf(own), dog, most],
      ),
      picture: lines(view, own, [focus]),
    },
    {
      box: `${last}.around_feed_forward`,
      said: say(
        "So does every other word, at the same moment and in all heads.",
      ),
      picture: lines(view, own, each),
    },
    {
      box: "encoder.norm",
      said: say("The memory is what has become of each word. It is made once."),
      picture: memory(view),
    },
    {
      box: "softmax",
      said: say(
        "Now {} looks into it, in {} most at {} ({}), and {} is written ({}).",
        ...[spoken(pieces.target[moment]), nameOf(decides), word, weight],
        ...[spoken(piece), chance(p)],
      ),
      picture: lines(view, decides, [moment]),
    },
  ];
  return shown.map(({ box, said, picture }) => {
    const caption = make("figcaption", {}, ...rich(said));
    const drawn = make(".op-big", { "aria-hidden": true }, ...picture);
    return { box, element: make("figure.op-scene", {}, caption, drawn) };
  });
}
