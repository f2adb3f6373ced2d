// Attention by hand: the query of "it" moves, and all that follows from it.
"use strict";

// What a query scores with each key: the dot products.
widgets.formulas.scores = (query, keys) =>
  keys.map((key) => key.reduce((sum, k, i) => sum + k * query[i], 0));

// The mean of the values under some weights.
widgets.formulas.mean = (weights, values) =>
  values[0].map((_, i) =>
    values.reduce((sum, value, j) => sum + weights[j] * value[i], 0),
  );

widgets.register("lookup", say("What does it look for?"), (widget) => {
  const { text, size, bar, number, percent, upTo } = widgets;
  const { scores, softmax, mean } = widgets.formulas;
  const { words, keys, values, parts, pronouns, start } = widget.data;
  const steps = upTo(16).map((i) => (i - 8) / 2);
  const short = (value) => number(value, 1);
  const query = parts.map((part, i) =>
    widget.slider(say("query: {}", part), steps, start[i], short),
  );

  return (svg, room) => {
    const asked = query.map((slider) => slider.value);
    const found = scores(asked, keys);
    const weights = softmax(found);
    const answer = mean(weights, values);
    const row = 22;
    const top = 26;
    const [score, left] = [room < 480 ? 112 : 150, room < 480 ? 126 : 170];
    const long = room - left - 46;
    text(svg, score, 12, say("score"), "end muted");
    text(svg, left, 12, say("weight"), "muted");
    words.forEach((word, i) => {
      const y = top + i * row;
      text(svg, 0, y + 13, word, weights[i] > 0.5 ? "on" : "");
      text(svg, score, y + 13, number(found[i], 1), "end");
      bar(svg, left, y, long * weights[i], percent(weights[i]), "key");
    });
    const end = top + words.length * row + 14;
    text(svg, 0, end + 13, say("answer"), "on");
    pronouns.forEach((pronoun, i) => {
      const x = left + (i * (room - left)) / 3;
      text(svg, x, end + 13, `${pronoun} ${number(answer[i])}`, "on");
    });
    size(svg, room, end + 26);
    const most = Math.max(...weights);
    const leads = words.filter((_, i) => weights[i] > most - 1e-9);
    const best = Math.max(...answer);
    const same = pronouns.filter((_, i) => best - answer[i] < 0.005);
    const given = [asked.map(short).join(", "), percent(most), leads[0]];
    const seen =
      leads.length > 1
        ? say(
            "With the query ({}) several words share the largest weight, {} each.",
            ...given,
          )
        : say(
            "With the query ({0}) {2} has the largest weight, {1}.",
            ...given,
          );
    const equals = same.join(say(" and "));
    const told =
      best < 0.005
        ? say("The answer is nothing but zeros: what it looks at is no noun.")
        : say("The largest number of the answer is that of {}.", equals);
    return say("{} {}", seen, told);
  };
});
