// The sentence of the book with other words: which pronoun a model writes.
"use strict";

widgets.register("pronoun", say("What is it?"), (widget) => {
  const { shape, text, size, bar, percent } = widgets;
  const { animals, foods, qualities, cases, pronouns, meant } = widget.data;
  const chosen = widget.sentence([
    "The",
    { label: say("animal"), values: animals, start: "dog" },
    "ate the",
    { label: say("food"), values: foods, start: "soup" },
    "because it was",
    { label: say("quality"), values: qualities, start: "hungry" },
    ".",
  ]);
  const ruler = /** @type {CanvasRenderingContext2D} */ (
    document.createElement("canvas").getContext("2d")
  );

  // How large letters may be, and the middle and width of each word in a line.
  function line(words, room) {
    const full = 16;
    ruler.font = `700 ${full}px ${getComputedStyle(document.body).fontFamily}`;
    const widths = words.map((word) => ruler.measureText(`${word} `).width);
    const whole = widths.reduce((a, b) => a + b);
    const part = Math.min(1, room / whole);
    let end = 0;
    const middles = widths.map((width) => (end += width) - width / 2);
    const scaled = (values) => values.map((value) => part * value);
    return [part * full, scaled(middles), scaled(widths)];
  }

  return (svg, room) => {
    const [animal, food, quality] = chosen.map((menu) => menu.value);
    const { german, chances, weights } = cases[`${animal} ${food} ${quality}`];
    const source = `The ${animal} ate the ${food} because it was ${quality} .`;
    const words = source.split(" ");
    const most = Math.max(...chances);
    const best = chances.indexOf(most);
    // What the pronoun can stand for: both nouns, if they have one gender.
    const nouns = [animal, food].filter((noun) => meant[noun] === best);
    // On a phone the translation takes two lines.
    const lines = 8 * german.length > room ? german.split(/(?<=,) /) : [german];
    lines.forEach((said, i) => text(svg, 0, 13 + 18 * i, said, "title on"));
    let y = 18 * lines.length + 8;
    chances.forEach((chance, i) => {
      if (chance < 0.005) return;
      text(svg, 0, y + 13, pronouns[i], i === best ? "on" : "");
      bar(svg, 32, y, (room - 90) * chance, percent(chance), "value");
      y += 22;
    });

    const [letters, at, widths] = line(words, room);
    const level = y + 74;
    weights.forEach((weight, i) => {
      if (weight < 0.005) return;
      const [x, width] = [at[i] - widths[i] / 2, widths[i]];
      const box = { x, y: level + 7, width, height: 1 + 14 * weight };
      svg.append(shape("rect", { ...box, class: "bar key" }));
      text(svg, at[i], level + 22 + 14 * weight, percent(weight), "middle");
    });
    words.forEach((word, i) => {
      const kind = nouns.includes(word) || word === "it" ? "on" : "";
      const label = text(svg, at[i], level, word, `middle ${kind}`);
      label.setAttribute("style", `font-size: ${letters}px`);
    });
    const from = at[words.indexOf("it")];
    const foot = level - letters - 4;
    for (const noun of nouns) {
      const to = at[words.indexOf(noun)];
      const bow = `C ${from} ${foot - 52} ${to} ${foot - 52} ${to} ${foot - 6}`;
      const d = `M ${from} ${foot} ${bow}`;
      svg.append(shape("path", { d, class: "line on series-0 arc" }));
      const head = `${to - 5},${foot - 7} ${to + 5},${foot - 7} ${to},${foot}`;
      svg.append(shape("polygon", { points: head, class: "fill-0" }));
    }
    size(svg, room, level + 44);
    const either = nouns.join(say(" or the "));
    const seen = words[weights.indexOf(Math.max(...weights))];
    return say(
      "The model writes {} It gives {} a probability of {}, so “it” is the " +
        "{}. As it writes {}, one of its heads looks most at {}.",
      german,
      pronouns[best],
      percent(most),
      either,
      pronouns[best],
      seen,
    );
  };
});
