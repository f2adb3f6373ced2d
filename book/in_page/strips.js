/**
 * Vectors as strips of colour and weights as maps: one pixel a number, as
 * large as the style sheet says. Negative numbers are blue, positive ones
 * orange, and the background shows through what is near zero.
 */

import { make, digits } from "./elements.js";

/** The three bytes of a colour of book.css, which has them as #rrggbb. */
function bytes(name) {
  const style = getComputedStyle(document.documentElement);
  const hex = style.getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
}

/** Nearly the largest of the numbers' sizes: what is drawn at full strength. */
function limitOf(rows) {
  const sizes = rows.flatMap((row) => Array.from(row, Math.abs));
  sizes.sort((a, b) => a - b);
  return sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
}

/**
 * Paint rows of numbers, and leave room for rows to come.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>[]} rows those of a map may be of unequal length
 * @param {{room?: number, wide?: number, limit?: number}} given
 */
export function paint(canvas, rows, { room = rows.length, wide, limit } = {}) {
  const width = wide ?? Math.max(...rows.map((row) => row.length));
  const most = limit ?? limitOf(rows);
  Object.assign(canvas, { width, height: room });
  const context = /** @type {CanvasRenderingContext2D} */ (
    canvas.getContext("2d")
  );
  const image = context.createImageData(width, room);
  const [minus, plus] = ["--blue", "--bright-orange"].map(bytes);
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      const strength = Math.min(1, Math.abs(row[x]) / most);
      const place = 4 * (y * width + x);
      image.data.set(row[x] < 0 ? minus : plus, place);
      image.data[place + 3] = 255 * strength ** 0.8;
    }
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Weights from 0 to 1, in one colour, with room for some keys. */
export function paintMap(canvas, rows, room, wide) {
  const signed = rows.map((row) => Array.from(row, (weight) => -weight));
  return paint(canvas, signed, { room, wide, limit: 1 });
}

/** The words of one side, one below the other; each can be pointed at. */
export const labels = (side, pieces) =>
  make(
    ".op-labels",
    { "aria-hidden": "true" },
    ...pieces.map((piece, i) =>
      make(
        "span.op-word",
        { "data-side": side, "data-place": i },
        piece.replaceAll("▁", ""),
      ),
    ),
  );

/** What tells whose rows a picture has, how many, and what is across. */
export const rowsOf = (side, count, across) => ({
  style: `--rows: ${count}`,
  ...{ "data-of": side, "data-down": side, "data-across": across },
});

/** A part of a shape, a formula or code, by the axis that it names. */
export const axis = (name, text) =>
  make("span.op-axis", { "data-axis": name }, text);

/**
 * A labelled strip: what it is, its shape, and a row of colour for a word.
 * @param {{title: string, side: Side, pieces: string[], across?: string,
 *   rows: Float64Array[]}} given across is the axis of the numbers
 */
export function strip({ title, side, pieces, rows, across = "d_model" }) {
  const [low, high] = [Math.min, Math.max].map((f) =>
    digits(f(...rows.map((row) => f(...row))), 1),
  );
  const size = rows[0].length;
  const count = rows.length;
  const said = say(
    "{}: {} subwords by {} numbers, from {} to {}",
    ...[title, count, size, low, high],
  );
  const subwords = count === 1 ? say("1 subword") : say("{} subwords", count);
  const canvas = make("canvas", { role: "img", "aria-label": said });
  const lit = rowsOf(side, count, across);
  return make(
    "figure.op-strip",
    {},
    make(
      "figcaption",
      {},
      `${title} `,
      make(
        "span.op-shape",
        {},
        axis(side, subwords),
        " × ",
        axis(across, size),
      ),
    ),
    labels(side, pieces),
    make(".op-canvas.op-rows", lit, paint(canvas, rows)),
  );
}
