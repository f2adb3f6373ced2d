// A beam search, step by step, and the length penalty that picks its winner.
"use strict";

widgets.formulas.lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

widgets.register("beam", "A beam search, step by step", (widget) => {
  const { make, shape, text, size, number, percent, upTo } = widgets;
  const { lengthPenalty } = widgets.formulas;
  const { caption, trees } = widget.data;
  const last = (tree) => tree.nodes.at(-1).step;
  const width = widget.choice(
    "beam",
    trees.map((tree) => [`${tree.width}`, `${tree.width}`]),
    `${trees.at(-1).width}`,
  );
  const short = (value) => number(value, 1);
  const tenths = upTo(20).map((i) => i / 10);
  const alpha = widget.slider("length penalty α", tenths, 0.6, short);
  const chosen = () => trees.find((tree) => `${tree.width}` === width.value);
  const step = widget.slider(
    "step",
    upTo(last(chosen())),
    3,
    (i) => `${i} of ${last(chosen())}`,
  );
  widget.title.append(`: “${caption}”`);
  /** @type {number | undefined} */
  let timer;

  function move(by) {
    step.value = Math.min(Math.max(0, step.value + by), last(chosen()));
    widget.update();
  }

  function play(button, on = timer === undefined) {
    clearInterval(timer);
    timer = on ? setInterval(advance, 1200) : undefined;
    button.textContent = on ? "pause" : "play";
    if (!on) return;
    if (step.value === last(chosen())) move(-step.value);

    function advance() {
      move(1);
      if (step.value === last(chosen())) play(button, false);
    }
  }

  widget.buttons({ back: () => move(-1), forward: () => move(1), play });

  const kept = (node) => node.place !== null;
  const score = (node) => node.total / lengthPenalty(node.step, alpha.value);
  const best = (nodes, worth) =>
    nodes.reduce((a, b) => (worth(b) > worth(a) ? b : a));

  // From the start to a node.
  function path(tree, node) {
    const way = [node];
    while (way[0].step) way.unshift(tree.nodes[way[0].parent]);
    return way;
  }

  function words(tree, node) {
    const pieces = path(tree, node).filter((n) => !n.end);
    const joined = pieces.map((n) => n.piece).join("");
    return joined.replaceAll("▁", " ").trim() || "(nothing)";
  }

  function label(node, longest = Infinity) {
    if (!node.step) return "start";
    const said = node.end ? "end" : node.piece.replace(/^▁(?=.)/, "");
    return said.length > longest ? `${said.slice(0, longest - 1)}…` : said;
  }

  const pill = (node) => Math.max(22, 7 * label(node, 9).length + 10);

  // What there is after the chosen step.
  function stateOf(tree) {
    const now = step.value;
    const nodes = tree.nodes.filter((node) => node.step <= now);
    const over = (n) => n.end || n.step === tree.limit;
    const finished = nodes.filter((n) => kept(n) && n.step && over(n));
    const live = nodes.filter((n) => kept(n) && n.step === now && !over(n));
    const lead = finished.length
      ? best(finished, score)
      : best(live, (n) => n.total);
    const ways = [...live, ...finished].flatMap((n) => path(tree, n));
    return { now, nodes, finished, live, lead, alive: new Set(ways) };
  }

  // Where each column begins and has its middle, as wide as what it keeps.
  function columnsOf(tree) {
    let end = 0;
    return upTo(last(tree)).map((i) => {
      const there = tree.nodes.filter((n) => kept(n) && n.step === i);
      const [begin, wide] = [end, Math.max(...there.map(pill))];
      end += wide + 14;
      return { begin, middle: begin + wide / 2 };
    });
  }

  // Past nodes stand at their place in the beam, the candidates of the
  // chosen step beside their parent.
  function positions(tree, { now, nodes }, columns, row) {
    const level = (node) => (node.place + 0.5) * row;
    const newest = nodes.filter((node) => node.step === now);
    const at = (node) => {
      if (node.step < now || !now)
        return [columns[node.step].middle, level(node)];
      const mates = newest.filter((n) => n.parent === node.parent);
      const offset = mates.indexOf(node) - (mates.length - 1) / 2;
      const parent = tree.nodes[node.parent];
      const left = columns[now - 1].middle + pill(parent) / 2 + 26;
      return [left, level(parent) + 19 * offset];
    };
    return new Map(nodes.map((node) => [node, at(node)]));
  }

  function drawPast(svg, node, [cx, cy], faint) {
    const w = pill(node);
    const kind = faint ? "" : node.end ? "ended" : "kept";
    const box = { x: cx - w / 2, y: cy - 11, width: w, height: 22, rx: 6 };
    svg.append(shape("rect", { ...box, class: `node ${kind}` }));
    const ink = faint ? "muted" : "inside";
    text(svg, cx, cy + 4, label(node, 9), `middle ${ink}`);
  }

  function drawCandidate(svg, node, [cx, cy]) {
    const kind = !kept(node) ? "" : node.end ? "ended" : "kept";
    svg.append(shape("circle", { cx, cy, r: 5, class: `node ${kind}` }));
    const said = `${label(node)} ${percent(node.p)}`;
    const line = text(svg, cx + 9, cy + 4, said, kept(node) ? "on" : "muted");
    const sum = shape("tspan", { dx: 8, class: "muted" }, number(node.total));
    line.append(sum);
  }

  // Where there is no room for all steps, the first ones are cut off.
  function drawTree(svg, room, tree, state) {
    const { now, lead, alive } = state;
    const row = tree.width === 1 ? 84 : 66;
    const columns = columnsOf(tree);
    const end = columns[now].middle + 150;
    const first = columns.find(({ begin }) => end - begin <= room);
    size(svg, room, row * tree.width + 4, (first ?? columns[now]).begin);
    const places = positions(tree, state, columns, row);
    const leading = new Set(path(tree, lead));
    const shown = state.nodes.filter((n) => kept(n) || n.step === now);
    for (const node of shown.filter((n) => n.step)) {
      const [x1, y1] = places.get(tree.nodes[node.parent]);
      const [x2, y2] = places.get(node);
      const bend = (x1 + x2) / 2;
      const d = `M ${x1} ${y1} C ${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`;
      const kind = leading.has(node) ? "lead" : alive.has(node) ? "" : "faint";
      svg.append(shape("path", { d, class: `branch ${kind}` }));
    }
    for (const node of shown)
      if (node.step === now && now) drawCandidate(svg, node, places.get(node));
      else drawPast(svg, node, places.get(node), !alive.has(node));
  }

  function ranking(tree, { finished, lead }) {
    const heads = ["finished", "tokens", "log p", "score"];
    const head = make("tr", {}, ...heads.map((h) => make("th", {}, h)));
    const rows = [...finished]
      .sort((a, b) => score(b) - score(a))
      .map((n) => {
        const cells = [words(tree, n), n.step, number(n.total)];
        const row = [...cells, number(score(n))].map((c) => make("td", {}, c));
        return make("tr", n === lead ? { class: "leading" } : {}, ...row);
      });
    for (let i = rows.length; i < tree.width; i++) {
      const empty = ["…", "", "", ""].map((c) => make("td", {}, c));
      rows.push(make("tr", {}, ...empty));
    }
    const body = make("tbody", {}, ...rows);
    return make("table", {}, make("thead", {}, head), body);
  }

  function tell(tree, { now, finished, live, lead }) {
    const cited = (n) => `“${words(tree, n)}” (${number(n.total)})`;
    if (!now) return `To be translated: “${caption}”`;
    const told = [`Step ${now} of ${last(tree)}.`];
    const going = [...live].sort((a, b) => a.place - b.place);
    if (going.length) told.push(`Kept: ${going.map(cited).join(", ")}.`);
    if (!finished.length) return told.join(" ");
    const leader = `“${words(tree, lead)}”, score ${number(score(lead))}`;
    told.push(`Leading with α = ${short(alpha.value)}: ${leader}.`);
    if (!live.length) return `${told.join(" ")} All places have ended.`;
    const hope = Math.max(...live.map((n) => n.total));
    const bound = hope / lengthPenalty(tree.limit, alpha.value);
    told.push(
      bound > score(lead)
        ? `A live one could still reach ${number(bound)}: go on.`
        : `No live one can reach its score any more: a search may stop.`,
    );
    return told.join(" ");
  }

  return (svg, room) => {
    const tree = chosen();
    if (step.values.at(-1) !== last(tree)) step.offer(upTo(last(tree)));
    const state = stateOf(tree);
    drawTree(svg, room, tree, state);
    widget.under.replaceChildren(ranking(tree, state));
    return tell(tree, state);
  };
});
