// Softmax of dot products: what the width does to it, and the scale against it.
"use strict";

// The trace of the Jacobian: how much the weights still follow the scores.
widgets.formulas.trace = (weights) =>
  1 - weights.reduce((sum, weight) => sum + weight * weight, 0);

widgets.register("softmax", say("How far the softmax saturates"), (widget) => {
  const { shape, text, size, chart, percent, number } = widgets;
  const { softmax, trace } = widgets.formulas;
  const { widths, scores, largest } = widget.data;
  const powers = ["0", "0.5", "1"]; // of d_k, by which scores are divided
  const names = [say("nothing"), "√d_k", "d_k"];
  const said = [
    say("not divided"),
    say("divided by √dₖ"),
    say("divided by dₖ"),
  ];
  const power = widget.choice(
    say("divide the scores by"),
    powers.map((value, i) => [value, names[i]]),
    "0",
  );
  const width = widget.slider(say("width d_k"), widths, 64, number);
  const queries = scores.map((_, i) => i + 1);
  const query = widget.slider(say("random query"), queries, 1, (i) =>
    say("{} of {}", i, queries.length),
  );

  function bars(svg, box, weights) {
    const at = chart(svg, {
      box,
      x: [0, weights.length],
      y: [0, 1],
      xTicks: {},
      yTicks: { 0: "0", 0.5: "0.5", 1: "1" },
      title: say("weights of this query"),
      xLabel: say("{} keys", weights.length),
    });
    weights.forEach((weight, i) => {
      const [x, y] = [at.x(i + 0.12), at.y(weight)];
      const [w, h] = [at.x(i + 0.88) - x, Math.max(1, at.y(0) - y)];
      const bar = { x, y, width: w, height: h, class: "bar key" };
      svg.append(shape("rect", bar));
    });
    const most = Math.max(...weights);
    const x = at.x(weights.indexOf(most) + 0.5);
    const y = most < 0.9 ? at.y(most) - 5 : at.y(1) + 14;
    const left = x > box[0] + box[2] / 2;
    if (most < 0.9) text(svg, x, y, percent(most), "middle");
    else text(svg, x + (left ? -14 : 14), y, percent(most), left ? "end" : "");
  }

  function lines(svg, box, chosen, place) {
    const at = chart(svg, {
      box,
      x: [widths[0], widths.at(-1)],
      y: [0, 1],
      xTicks: { 2: "2", 16: "16", 128: "128", 1024: "1,024" },
      yTicks: { 0: "0", 0.5: "0.5", 1: "1" },
      title: say("largest weight, mean of 500 queries"),
      xLabel: say("width, logarithmic"),
      log: true,
    });
    [say("not divided"), say("by √dₖ"), say("by dₖ")].forEach((label, i) => {
      const on = i === chosen ? " on" : "";
      const points = widths.map((d, j) => [d, largest[j][i]]);
      at.line(points, `line series-${i}${on}`);
      const [x, y] = points[i ? 9 : 5];
      text(svg, at.x(x), at.y(y) - 9, label, `end ink-${i}${on}`);
    });
    const [cx, cy] = [at.x(widths[place]), at.y(largest[place][chosen])];
    svg.append(shape("circle", { cx, cy, r: 6, class: "dot" }));
  }

  return (svg, room) => {
    const d = width.value;
    const place = widths.indexOf(d);
    const row = scores[query.value - 1][place];
    const weights = softmax(row.map((s) => s / d ** Number(power.value)));
    const chosen = powers.indexOf(power.value);
    const side = room > 560;
    const half = side ? (room - 110) / 2 : room - 54;
    size(svg, room, side ? 232 : 470);
    bars(svg, [30, 24, half, 160], weights);
    const corner = side ? [half + 86, 24] : [30, 262];
    lines(svg, [...corner, half, 160], chosen, place);
    const most = Math.max(...weights);
    return say(
      "Scores of width {}, {}: key {} has {} of the weight. The derivatives " +
        "sum to {}; even weights would give {}.",
      number(d),
      said[chosen],
      weights.indexOf(most) + 1,
      percent(most),
      number(trace(weights)),
      number(1 - 1 / weights.length),
    );
  };
});
