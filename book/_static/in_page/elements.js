/** The few elements that the models' places on a page are made of. */
(() => {
  const SPACE = "▁";

  /**
   * An element: its attributes (functions are listeners) and what is in it.
   * @param {string} tag a name and, after dots, classes
   */
  function make(tag, given = {}, ...inside) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name || "div");
    element.classList.add(...classes);
    for (const [key, value] of Object.entries(given))
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }

  /** Let the page show what is new, and answer what is asked meanwhile. */
  const rest = (ms = 0) => new Promise((done) => setTimeout(done, ms));

  /** A share from 0 to 1 as the style of a cell or a bar. */
  const share = (weight) => ({ style: `--share: ${weight.toFixed(3)}` });

  /** A number with its digits and a true minus, but for −0.00. */
  const digits = (x, count) =>
    x
      .toFixed(count)
      .replace(/^-(?=[0.]+$)/, "")
      .replace("-", "−");

  /** A probability in three digits. */
  const chance = (p) => (p < 0.0005 ? "< 0.001" : p.toFixed(3));

  /** A piece with its sign for a space, small. */
  const named = (piece) =>
    piece.startsWith(SPACE)
      ? [make("span.at-space", {}, SPACE), piece.slice(1)]
      : [piece];

  /**
   * Pieces as chips, with a space before each that begins a word.
   * @param {string[]} pieces
   * @param {(piece: string, place: number) => object} given attributes
   */
  function chips(tag, pieces, given = () => ({})) {
    return pieces.flatMap((piece, i) => {
      const text = piece.replaceAll(SPACE, "") || "␣";
      const begins = piece.startsWith(SPACE) || piece.startsWith("<");
      return [begins && i ? " " : "", make(tag, given(piece, i), text)];
    });
  }

  globalThis.inPage = {
    ...globalThis.inPage,
    elements: { make, rest, share, digits, chance, named, chips },
  };
})();
