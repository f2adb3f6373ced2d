// Temperature, top-k and top-p over what may really come next.
"use strict";

// The package's next_token_probs: logits / temperature, and the tail cut off.
// The log-probabilities come likeliest first; a topK of 0 cuts nothing.
widgets.formulas.nextTokenProbs = (logP, temperature, topK, topP) => {
  const most = Math.max(...logP);
  const cold = Math.max(temperature, 1e-300); // of 0 the likeliest is left
  const p = widgets.formulas.softmax(logP.map((x) => (x - most) / cold));
  let before = 0; // of those that are likelier
  const kept = p.map((share, i) => {
    const stays = (!topK || i < topK) && (topP === 1 || before < topP);
    before += share;
    return stays ? share : 0;
  });
  const sum = kept.reduce((a, b) => a + b);
  return kept.map((share) => share / sum);
};

// The place that a random number from 0 to 1 falls on, among these shares.
widgets.formulas.pick = (shares, random) => {
  let left = random;
  const i = shares.findIndex((share) => (left -= share) < 0);
  return i < 0 ? shares.findLastIndex((share) => share > 0) : i;
};

// The sliders of the three options. Returns the function that applies them to
// logits, which come likeliest first.
function samplingOptions(controls, update, start = 1) {
  const { number, slider } = widgets;
  const say = (value) => number(value, 1);
  const all = (value) => (value ? String(value) : "all");
  const most = (value) => (value < 1 ? number(value) : "all");
  const temperatures = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
  const warm = [1.2, 1.5, 2, 3, 5];
  const ks = [1, 2, 3, 5, 10, 20, 40, 100, 0]; // to the right more may come
  const ps = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1];
  const sliders = [
    ["temperature", [...temperatures, ...warm], start, say],
    ["top-k", ks, 0, all],
    ["top-p", ps, 1, most],
  ].map((given) => slider(controls, update, ...given));
  return (logits) =>
    widgets.formulas.nextTokenProbs(
      logits,
      ...sliders.map(({ value }) => value),
    );
}

widgets.register("sampling", "Which words may come?", (widget) => {
  const { make, shape, text, size, percent } = widgets;
  const { softmax, pick } = widgets.formulas;
  const { beginning, logits } = widget.data;
  // alone, a sign would look like dots of the drawing
  const SIGNS = new Map([
    [",", "comma"],
    [".", "full stop"],
  ]);
  const words = widget.data.words.map((word) => SIGNS.get(word) ?? word);
  const learned = softmax(logits); // rounded, hence anew
  const bars = 12;
  const all = words.length;
  const update = () => widget.update();
  const allowed = samplingOptions(widget.controls, update);
  const now = () => allowed(logits);
  const drawn = make("p", { class: "widget-drawn" }, "Drawn: nothing yet");
  let some = [];

  function draw() {
    some = [...some, words[pick(now(), Math.random())]].slice(-12);
    drawn.textContent = `Drawn: ${some.join(" · ")}`;
  }

  widget.buttons({ "draw a word": draw });
  widget.under.append(drawn);

  return (svg, room) => {
    const shares = now();
    const row = 22;
    const [left, top] = [92, 26];
    const most = Math.max(...shares, ...learned);
    const long = (room - left - 92) / most;
    const line = (i, name, before, share) => {
      const y = top + i * row;
      text(svg, left - 8, y + 13, name, share ? "end" : "end muted");
      const box = { x: left, y: y + 11, height: 5, class: "fill-0" };
      svg.append(shape("rect", { ...box, width: long * before }));
      const width = share && Math.max(1, long * share);
      svg.append(
        shape("rect", { x: left, y, width, height: 11, class: "bar key" }),
      );
      const end = left + long * Math.max(before, share) + 6;
      text(svg, end, y + 13, share ? percent(share) : "cut");
    };
    text(svg, 0, 12, `${beginning} …`, "title on");
    for (let i = 0; i < bars; i++) line(i, words[i], learned[i], shares[i]);
    const rest = (all) => all.slice(bars).reduce((a, b) => a + b);
    line(bars, `${all - bars} more`, rest(learned), rest(shares));
    const end = top + (bars + 1) * row + 14;
    text(svg, left, end, "wide bar: as set; narrow bar: as learned", "muted");
    size(svg, room, end + 8);
    const stay = shares.filter((share) => share > 0).length;
    const tail = shares.slice(10).reduce((a, b) => a + b);
    return (
      `${stay} of ${all} words may come. The first, ${words[0]}, has ` +
      `${percent(shares[0])}, where the model gives it ` +
      `${percent(learned[0])}. All but the ten likeliest have ` +
      `${percent(tail)} together.`
    );
  };
});
