// The sentence of the book with other words: which pronoun a model writes.
"use strict";

widgets.register("pronoun", "What is it?", (widget) => {
  const { text, size, bar, percent } = widgets;
  const { animals, foods, qualities, cases, pronouns } = widget.data;
  const chosen = widget.sentence([
    "The",
    { label: "animal", values: animals, start: "dog" },
    "ate the",
    { label: "food", values: foods, start: "soup" },
    "because it was",
    { label: "quality", values: qualities, start: "hungry" },
    ".",
  ]);

  return (svg, room) => {
    const [animal, food, quality] = chosen.map((menu) => menu.value);
    const { german, chances, weights } = cases[
      `${animal} ${food} ${quality}`
    ];
    const source = `The ${animal} ate the ${food} because it was ${quality} .`;
    const most = Math.max(...chances);
    const best = chances.indexOf(most);
    const row = 22;
    // On a phone the translation takes two lines.
    const lines =
      8 * german.length > room ? german.split(/(?<=,) /) : [german];
    const down = 18 * (lines.length - 1);
    const left = 92;
    const long = room - left - 46;
    const show = (y, share, kind) =>
      bar(svg, left, y, long * share, percent(share), kind);
    lines.forEach((line, i) => text(svg, 0, 13 + 18 * i, line, "title on"));
    text(svg, 0, 44 + down, "How likely each pronoun is", "muted");
    pronouns.forEach((pronoun, i) => {
      const y = 54 + down + i * row;
      text(svg, 0, y + 13, pronoun, i === best ? "on" : "");
      show(y, chances[i], "value");
    });
    const top = 54 + down + 3 * row + 26;
    text(svg, 0, top - 8, "Where one head looks as it is written", "muted");
    source.split(" ").forEach((word, i) => {
      const y = top + 2 + i * row;
      text(svg, 0, y + 13, word, weights[i] > 0.5 ? "on" : "");
      show(y, weights[i], "key");
    });
    size(svg, room, top + 2 + 10 * row + 6);
    const seen = source.split(" ")[weights.indexOf(Math.max(...weights))];
    return (
      `The model writes ${german} It gives ${pronouns[best]} a probability ` +
      `of ${percent(most)}. As it does, this head looks most at ${seen}.`
    );
  };
});
