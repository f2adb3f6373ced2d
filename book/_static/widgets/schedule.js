// Two schedules of the learning rate with the same peak.
"use strict";

widgets.formulas.inverseSqrtRate = (step, d_model, warmup) =>
  d_model ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);

widgets.formulas.linearRate = (step, peak, warmup, steps) =>
  step <= warmup
    ? (peak * step) / warmup
    : peak * Math.max(0, (steps - step) / (steps - warmup));

widgets.register("schedule", "What the schedule depends on", (widget) => {
  const { shape, text, size, chart, number, percent, upTo } = widgets;
  const { inverseSqrtRate, linearRate } = widgets.formulas;
  const paper = widget.data;
  const warmups = [250, 500, 1000, 2000, 4000, 8000, 16000];
  const warmup = widget.slider("warm-up w", warmups, paper.warmup, number);
  const sizes = [64, 128, 256, 512, 1024];
  const width = widget.slider("width d_model", sizes, paper.d_model, number);
  const lengths = [3000, 10000, 20000, 50000, 100000];
  const length = widget.slider("updates in all", lengths, 20000, number);

  // Three to six round ticks from 0 to beyond the largest value.
  function ticks(largest) {
    const power = 10 ** Math.floor(Math.log10(largest));
    const steps = [0.2, 0.5, 1, 2].map((factor) => factor * power);
    const step = steps.find((size) => largest / size < 5) ?? 2 * power;
    const count = Math.ceil(largest / step);
    return upTo(count).map((i) => i * step);
  }

  const thousandths = (rate) => String(Number((1000 * rate).toPrecision(2)));

  return (svg, room) => {
    const [w, d, steps] = [warmup.value, width.value, length.value];
    const peak = inverseSqrtRate(w, d, w);
    const known = inverseSqrtRate(paper.warmup, paper.d_model, paper.warmup);
    const levels = ticks(Math.max(peak, known));
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * steps);
    size(svg, room, 316);
    const at = chart(svg, {
      box: [38, 46, room - 70, 220],
      x: [0, steps],
      y: [0, levels[levels.length - 1]],
      xTicks: Object.fromEntries(marks.map((v) => [v, number(v)])),
      yTicks: Object.fromEntries(levels.map((v) => [v, thousandths(v)])),
      xLabel: "update",
    });
    text(svg, 0, 13, "learning rate, in thousandths", "title");
    const same = w === paper.warmup && d === paper.d_model;
    // A line through 400 updates and the kinks, so that peaks are sharp.
    const along = (rate) => {
      const grid = upTo(399).map((i) => 1 + (i / 399) * (steps - 1));
      const kinks = [w, paper.warmup].filter((s) => s <= steps);
      const places = [...grid, ...kinks].sort((a, b) => a - b);
      return places.map((s) => [s, rate(s)]);
    };
    const base = (s) => inverseSqrtRate(s, paper.d_model, paper.warmup);
    if (!same) at.line(along(base), "line reference");
    const root = (s) => inverseSqrtRate(s, d, w);
    const linear = (s) => linearRate(s, peak, w, steps);
    at.line(along(linear), "line series-1 on");
    at.line(along(root), "line series-0 on");
    const ink = (kind, said) => shape("tspan", { class: kind }, said);
    const legend = text(svg, 0, 31, "");
    legend.append(ink("ink-0 on", "inverse root"), ", ");
    legend.append(ink("ink-1 on", "linear"), " (dashed)");
    if (!same) legend.append(", the paper's (dotted)");
    if (w <= steps) {
      const dot = { cx: at.x(w), cy: at.y(peak), r: 5, class: "dot" };
      svg.append(shape("circle", dot));
    }
    const highest = Number(peak.toPrecision(2));
    if (w >= steps)
      return (
        `A warm-up of ${number(w)} updates takes longer than the whole ` +
        `training of ${number(steps)}: both rates still rise when it ends, ` +
        `and the peak of ${highest} is never reached.`
      );
    return (
      `The peak is ${highest}, at update ${number(w)}, after ` +
      `${percent(w / steps)} of the training. At the last update the ` +
      `inverse root is still at ${percent(root(steps) / peak)} of its peak; ` +
      `the linear schedule has come to zero.`
    );
  };
});
