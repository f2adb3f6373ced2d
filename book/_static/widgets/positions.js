// Sinusoids as the hands of clocks: wavelengths, and a shift as a rotation.
"use strict";

// The speed of pair i, in radians a position.
widgets.formulas.speed = (i, d_model) => 10000 ** ((-2 * i) / d_model);

// Pair i of the encoding of a position: its sine and its cosine.
widgets.formulas.sinusoid = (position, i, d_model) => {
  const angle = position * widgets.formulas.speed(i, d_model);
  return [Math.sin(angle), Math.cos(angle)];
};

// The rotation by which pair i moves k positions on.
widgets.formulas.rotation = (k, i, d_model) => {
  const [sine, cosine] = widgets.formulas.sinusoid(k, i, d_model);
  return [
    [cosine, sine],
    [-sine, cosine],
  ];
};

const clocks = say("Positions as the hands of clocks");
widgets.register("positions", clocks, (widget) => {
  const { shape, text, size, chart, number, upTo } = widgets;
  const { speed, sinusoid, rotation } = widgets.formulas;
  const d_model = widget.data.d_model;
  const pairs = upTo(d_model / 2 - 1);
  const position = widget.slider(say("position"), upTo(80), 10);
  const shift = widget.slider(say("shift k"), upTo(20), 3);
  const pair = widget.slider(say("pair i"), pairs, 1);
  const wavelength = (i) => (2 * Math.PI) / speed(i, d_model);
  const length = (i) => number(wavelength(i), i < 3 ? 1 : 0);

  // One pair as a clock: noon is position 0, hands turn clockwise.
  function clock(svg, x, y, radius, i) {
    const [here, there] = [position.value, position.value + shift.value];
    const tip = (at, reach = 0.92) => {
      const [sine, cosine] = sinusoid(at, i, d_model);
      return [x + reach * radius * sine, y - reach * radius * cosine];
    };
    const on = i === pair.value ? " on" : "";
    const face = shape("circle", { cx: x, cy: y, r: radius });
    face.setAttribute("class", `face${on}`);
    face.addEventListener("click", () => {
      pair.value = i;
      widget.update();
    });
    const turned = shift.value * speed(i, d_model);
    const from = tip(here, 0.55).join(" ");
    const large = Number(turned % (2 * Math.PI) > Math.PI);
    const r = 0.55 * radius;
    const arc = `A ${r} ${r} 0 ${large} 1 ${tip(there, 0.55).join(" ")}`;
    const d = `M ${x} ${y} L ${from} ${arc} Z`;
    svg.append(face, shape("path", { d, class: "turn" }));
    for (const [at, series] of [
      [there, 1],
      [here, 0],
    ]) {
      const [x2, y2] = tip(at);
      const hand = { x1: x, y1: y, x2, y2, class: `hand series-${series}` };
      svg.append(shape("line", hand));
    }
    text(svg, x, y + radius + 16, say("pair {}", i), `middle${on}`);
    text(svg, x, y + radius + 31, `λ = ${length(i)}`, "middle muted");
  }

  // The chosen pair along the sentence.
  function waves(svg, box) {
    const i = pair.value;
    const at = chart(svg, {
      box,
      x: [0, 100],
      y: [-1.1, 1.1],
      xTicks: Object.fromEntries([0, 20, 40, 60, 80, 100].map((v) => [v, v])),
      yTicks: { "-1": "−1", 0: "0", 1: "1" },
      title: say("pair {}: sine, and cosine dashed", i),
      xLabel: say("position"),
    });
    const grid = upTo(400).map((v) => v / 4);
    ["sine", "cosine"].forEach((name, part) => {
      const points = grid.map((v) => [v, sinusoid(v, i, d_model)[part]]);
      at.line(points, `line wave-${part}`);
    });
    [position.value, position.value + shift.value].forEach((v, series) => {
      const ends = {
        x1: at.x(v),
        x2: at.x(v),
        y1: at.y(-1.1),
        y2: at.y(1.1),
      };
      svg.append(shape("line", { ...ends, class: `hand series-${series}` }));
      for (const height of sinusoid(v, i, d_model)) {
        const dot = { cx: at.x(v), cy: at.y(height), r: 4 };
        svg.append(shape("circle", { ...dot, class: `fill-${series}` }));
      }
    });
  }

  const round = (values) => `(${values.map((v) => number(v)).join(", ")})`;

  return (svg, room) => {
    const [i, at, k] = [pair.value, position.value, shift.value];
    const title = text(svg, 0, 12, say("hands at position "), "title");
    const ink = (n, said) => shape("tspan", { class: `ink-${n} on` }, said);
    title.append(ink(0, at), say(" and at "), ink(1, `${at} + ${k}`));
    const columns = room > 560 ? pairs.length : pairs.length / 2;
    const step = room / columns;
    const radius = Math.min(38, step / 2 - 7);
    const row = 2 * radius + 46;
    const top = 22 + (row * pairs.length) / columns + 32;
    size(svg, room, top + 170);
    for (const j of pairs) {
      const [column, line] = [j % columns, Math.floor(j / columns)];
      clock(svg, (column + 0.5) * step, 25 + line * row + radius, radius, j);
    }
    waves(svg, [30, top, room - 54, 120]);
    const degrees = (k * speed(i, d_model) * 180) / Math.PI;
    const [first, second] = rotation(k, i, d_model);
    return say(
      "Pair {} turns once in {} positions, so a shift by {} turns its hand " +
        "by {}°. The rotation with rows {} and {} takes sine and cosine of " +
        "position {}, {}, to those of {}, {}.",
      i,
      length(i),
      k,
      number(degrees, 1),
      round(first),
      round(second),
      at,
      round(sinusoid(at, i, d_model)),
      at + k,
      round(sinusoid(at + k, i, d_model)),
    );
  };
});
