/** The few elements that the models' places on a page are made of. */

const SPACE = "▁";

/**
 * An element: its attributes (functions are listeners) and what is in it. A
 * button sends no form, unless it has that type.
 * @param {string} tag a name and, after dots, classes
 * @returns {any} the name decides what it is, which a type does not follow
 */
export function make(tag, given = {}, ...inside) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  element.classList.add(...classes);
  if (name === "button") element.setAttribute("type", name);
  for (const [key, value] of Object.entries(given))
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

/** A field for one sentence, as high as it needs: a textarea. */
export function field(given, text = "") {
  const keydown = (event) => event.key === "Enter" && event.preventDefault();
  const limits = { rows: 1, maxlength: 120, spellcheck: "false" };
  return make("textarea", { ...limits, lang: "en", keydown, ...given }, text);
}

/** A button that brings an example. */
export const example = (name, text, click) =>
  make(
    "button.at-quiet",
    { "aria-label": say("Example: {}", text), click },
    say(name),
  );

/** Let the page show what is new, and answer what is asked meanwhile. */
export const rest = (ms = 0) => new Promise((done) => setTimeout(done, ms));

/**
 * Words as a list in the language of the page.
 * @param {string[]} words
 * @param {Intl.ListFormatType} type
 */
export const listed = (words, type = "conjunction") =>
  new Intl.ListFormat(document.documentElement.lang, { type }).format(words);

/** Sentences one after the other; what is empty is none. */
export const joined = (...sentences) =>
  sentences.filter(Boolean).reduce((all, one) => say("{} {}", all, one));

/** A share from 0 to 1 as the style of a cell or a bar. */
export const share = (weight) => ({ style: `--share: ${weight.toFixed(3)}` });

/** A number with its digits and a true minus, but for −0.00. */
export const digits = (x, count) =>
  x
    .toFixed(count)
    .replace(/^-(?=[0.]+$)/, "")
    .replace("-", "−");

/** A probability in three digits. */
export const chance = (p) => (p < 0.0005 ? "< 0.001" : p.toFixed(3));

/** A piece with its sign for a space, small. */
export const named = (piece) =>
  piece.startsWith(SPACE)
    ? [make("span.at-space", {}, SPACE), piece.slice(1)]
    : [piece];

/**
 * Pieces as chips, with a space before each that begins a word.
 * @param {string[]} pieces
 * @param {(piece: string, place: number) => object} given attributes
 */
export function chips(tag, pieces, given = () => ({})) {
  return pieces.flatMap((piece, i) => {
    const text = piece.replaceAll(SPACE, "") || "␣";
    const begins = piece.startsWith(SPACE) || piece.startsWith("<");
    return [begins && i ? " " : "", make(tag, given(piece, i), text)];
  });
}

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0] };
Object.assign(WAYS, { ArrowDown: [0, 1], ArrowUp: [0, -1] });

/**
 * Make one tab stop of all buttons and boxes in a place: an arrow leads to
 * the nearest that lies in its direction.
 * @param {any} place
 * @returns {any} the place
 */
export function oneStop(place) {
  /** @returns {any[]} */
  const all = () => [...place.querySelectorAll("button, input")];
  const stop = (one) => all().forEach((x) => (x.tabIndex = x === one ? 0 : -1));
  const middle = (one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return [(left + right) / 2, (top + bottom) / 2];
  };
  place.addEventListener("keydown", (event) => {
    const [right, down] = WAYS[event.key] ?? [];
    if (right === undefined || event.altKey || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = middle(event.target);
    const [next] = all()
      .map((one) => {
        const [dx, dy] = [middle(one)[0] - x, middle(one)[1] - y];
        const along = dx * right + dy * down;
        const aside = Math.abs(dx * down) + Math.abs(dy * right);
        return { one, along, aside, far: along + 2 * aside };
      })
      .filter(({ along, aside }) => along > 1 && aside <= along)
      .sort((a, b) => a.far - b.far);
    next?.one.focus();
  });
  place.addEventListener("focusin", ({ target }) => stop(target));
  new MutationObserver(() => {
    const now = place.querySelector(":focus, [aria-pressed=true]");
    stop(now ?? all()[0]);
  }).observe(place, { childList: true, subtree: true });
  return place;
}
