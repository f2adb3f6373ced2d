// A training, stopped on its way: what is written, expected and looked at.
"use strict";

widgets.register("learning", "Watch it learn", (widget) => {
  const { make, shape, text, size, bar, chart, number, percent, upTo } =
    widgets;
  const { looks, sentences, pronouns, head, loss, right } = widget.data;
  const { written, chances, maps } = widget.data;
  const last = looks.length - 1;
  const at = widget.slider("update", upTo(last), 0, (i) => number(looks[i]));
  const names = sentences.map(({ name }, i) => [String(i), name]);
  const asked = widget.choice("sentence", names, "0");
  const list = make("ol", { class: "widget-written" });
  widget.under.append(list);

  // The loss and the share of right pronouns, with a mark at this update.
  function curves(svg, [left, top, width, height], now) {
    const most = 8; // nats
    const ticks = [looks[0], 100, 1000, looks[last]];
    const scale = chart(svg, {
      box: [left, top, width, height],
      ...{ x: [looks[0], looks[last]], y: [0, 1], log: true },
      xTicks: Object.fromEntries(ticks.map((v) => [v, number(v)])),
      yTicks: { 0: "0", 0.5: `${most / 2}`, 1: `${most}` },
      xLabel: "update",
    });
    for (const share of [0, 0.5, 1])
      text(svg, left + width + 12, scale.y(share) + 4, percent(share));
    const along = (all) => all.map((value, i) => [looks[i], value]);
    scale.line(along(loss.map((nats) => nats / most)), "line series-0 on");
    scale.line(along(right), "line series-1 on");
    const x = scale.x(looks[now]);
    const mark = { x1: x, x2: x, y1: top, y2: top + height };
    svg.append(shape("line", { ...mark, class: "reference" }));
    for (const share of [loss[now] / most, right[now]]) {
      const dot = { cx: x, cy: scale.y(share), r: 5, class: "dot" };
      svg.append(shape("circle", dot));
    }
    const ink = (kind, said) => shape("tspan", { class: kind }, said);
    text(svg, 0, top - 12, "").append(
      ink("ink-0 on", `loss ${number(loss[now])}`),
      ", ",
      ink("ink-1 on", `pronouns right ${percent(right[now])}`),
    );
  }

  // Where the head looks before each word of the right translation.
  function map(svg, [left, top, room], { source, target, at: row }, weights) {
    const columns = [...source, "end"];
    const cell = Math.min(26, (room - 74) / columns.length);
    const begin = left + 62;
    columns.forEach((word, j) => {
      const x = begin + (j + 0.5) * cell + 4;
      const turned = `translate(${x} ${top - 6}) rotate(-60)`;
      text(svg, 0, 0, word).setAttribute("transform", turned);
    });
    target.forEach((word, i) => {
      const y = top + i * cell;
      const kind = i === row ? "end on" : "end";
      text(svg, begin - 6, y + cell / 2 + 4, word, kind);
      columns.forEach((_, j) => {
        const box = { x: begin + j * cell, y, width: cell - 1 };
        const style = `--share: ${weights[i][j] / 100}`;
        const known = { ...box, height: cell - 1, style };
        svg.append(shape("rect", { ...known, class: "cell" }));
      });
    });
    const box = { x: begin - 1, y: top + row * cell - 1, height: cell + 1 };
    const width = columns.length * cell + 1;
    svg.append(shape("rect", { ...box, width, class: "frame" }));
    return top + target.length * cell;
  }

  // A translation; nonsense may be long.
  function output(said, german) {
    const shown = said.length > 60 ? `${said.slice(0, 58)} …` : said;
    const sign = said === german ? "right" : "wrong";
    return make("span", { lang: "de", class: sign }, shown || "(nothing)");
  }

  return (svg, room) => {
    const now = at.value;
    const chosen = Number(asked.value);
    const sentence = sentences[chosen];
    const expected = chances[now][chosen];
    const weights = maps[now][chosen];
    list.replaceChildren(
      ...sentences.map(({ english, german }, i) => {
        const source = make("span", { lang: "en" }, english);
        return make("li", {}, source, output(written[now][i], german));
      }),
    );
    const wide = room >= 620;
    const half = wide ? (room - 24) / 2 : room;
    curves(svg, [16, 26, half - 68, 120], now);
    const below = 210;
    text(svg, 0, below, "expected where the pronoun comes", "title");
    pronouns.forEach((pronoun, i) => {
      const y = below + 10 + i * 22;
      const kind = pronoun === sentence.pronoun ? "end on" : "end";
      text(svg, 30, y + 13, pronoun, kind);
      const share = expected[i];
      bar(svg, 38, y, (half - 90) * share, percent(share), "value");
    });
    const [left, top] = wide ? [half + 24, 72] : [0, below + 166];
    text(svg, left, top - 59, "where one head looks before each word", "title");
    const end = map(svg, [left, top, half], sentence, weights);
    size(svg, room, Math.max(below + 80, end + 4));
    const row = weights[sentence.at];
    const most = Math.max(...row);
    const seen = [...sentence.source, "the end"][row.indexOf(most)];
    const best = Math.max(...expected);
    const good = sentences.filter((x, i) => written[now][i] === x.german);
    const likely = pronouns[expected.indexOf(best)];
    const sum = expected.reduce((a, b) => a + b);
    const verdict =
      sum < 0.5
        ? "but none is expected there yet"
        : likely === sentence.pronoun
          ? "which is right"
          : `but ${sentence.pronoun} is right`;
    return (
      `After ${number(looks[now])} updates the loss is ${number(loss[now])}; ` +
      `${good.length} of 3 translations and ${percent(right[now])} ` +
      `of all pronouns are right. In “${sentence.english}” the likeliest ` +
      `pronoun is ${likely} (${percent(best)}), ` +
      `${verdict}. There, head ` +
      `${head[1]} of layer ${head[0]} looks most at ${seen} (${most}%).`
    );
  };
});
