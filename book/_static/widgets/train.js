// A Transformer that the reader trains; its program is in_page/learner.js.
"use strict";

widgets.register("train", "Train it yourself", (widget) => {
  const { make, text, size, chart, number, upTo } = widgets;
  const recipe = widget.data;
  const { steps } = recipe;
  const PROGRAM = "../in_page/learner.js";
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  const MASKS = {
    right: "Its masks are right.",
    "no mask":
      "Its decoder sees the letter that it has to write. The loss falls, but " +
      "when it writes by itself, that letter is not there yet.",
    "mask upside down":
      "Its cross-attention sees only padding, and the longest string of a " +
      "batch has none. For the others, what the encoder computes at the " +
      "padding has to do.",
    "target's mask":
      "Its cross-attention has the decoder's mask: letter i sees the first i " +
      "letters. They suffice for a copy, which it learns sooner. Backwards it " +
      "is slower: what it needs first lies behind the mask, and comes only " +
      "through what the encoder has mixed into the letters in front.",
  };
  const SECRET = "a secret one";
  const names = [...Object.keys(MASKS), SECRET].map((name) => [name, name]);
  const tasks = ["copy", "reverse"].map((name) => [name, name]);
  const task = widget.choice("task", tasks, "copy");
  const mask = widget.choice("masks", names, "right");
  const rates = [0.0004, 0.0008, 0.0015, 0.003, 0.006, 0.012, 0.025, 0.05];
  const warmups = [0, 10, 30, 100, 200, 300];
  const rate = widget.slider("learning rate", rates, recipe.rate, String);
  const warmup = widget.slider("warm-up", warmups, recipe.warmup, String);
  const row = widget.buttons({ start, stop: toggle });
  const [, pause] = row.children;
  pause.disabled = true;
  const samples = make("table", { class: "widget-strings" });
  const guesses = make("div", { class: "widget-buttons widget-guess" });
  widget.under.append(guesses, samples);

  /**
   * What has been chosen for a program, and how far it has come.
   * @typedef {{name: string, task: string, mask: string, secret: boolean,
   *   losses: number[], exams: {step: number, right: number, of: number}[],
   *   step: number, seconds?: number, running: boolean, ended: boolean}} Program
   */

  /** @type {Worker | null} */
  let worker = null;
  /** @type {Program[]} */
  let runs = [];
  let said = "";
  const now = () => runs[runs.length - 1];
  const settings = () => ({ rate: rate.value, warmup: warmup.value });

  /** The program, which is loaded when it is first wanted. */
  function program() {
    if (globalThis.inPage?.learner !== undefined) return Promise.resolve();
    return new Promise((done, fail) => {
      const src = new URL(PROGRAM, here).href;
      const script = make("script", { src });
      script.onload = done;
      script.onerror = () => fail(new Error(`${PROGRAM} was not found`));
      document.head.append(script);
    });
  }

  /** A worker that trains: the text of the program is all that it needs. */
  function trainer() {
    const text = `onmessage = ((answer) => ({ data }) => answer(data))(
      (${globalThis.inPage.learner})().answers((said) => postMessage(said)));`;
    const address = URL.createObjectURL(new Blob([text]));
    const made = new Worker(address);
    URL.revokeObjectURL(address);
    return made;
  }

  async function start() {
    worker?.terminate();
    worker = null;
    const secret = mask.value === SECRET;
    const all = Object.keys(MASKS);
    const chosen = secret
      ? all[Math.floor(all.length * Math.random())]
      : mask.value;
    const letter = String.fromCharCode(
      now() ? Math.min(90, now().name.charCodeAt(0) + 1) : 65,
    );
    /** @type {Program} */
    const run = {
      ...{ name: letter, task: task.value, mask: chosen, secret },
      ...{ losses: [], exams: [], step: 0, running: true, ended: false },
    };
    runs = [...runs.slice(-2), run]; // as many as have a colour
    said = `Program ${letter} begins.`;
    samples.replaceChildren();
    show();
    try {
      await program();
      if (run !== now()) return; // another one was begun meanwhile
      worker = trainer();
      worker.onmessage = ({ data }) => receive(run, data);
      worker.onerror = ({ message }) => fail(run, message);
      const bug = chosen === "right" ? null : chosen;
      const begin = [recipe, { task: run.task, bug, seed: 1 }];
      worker.postMessage({ begin, settings: settings(), run: run.running });
    } catch (error) {
      fail(run, error.message);
    }
  }

  function fail(run, why) {
    Object.assign(run, { running: false, ended: true });
    said = `It cannot be trained here: ${why}.`;
    show();
  }

  function toggle() {
    now().running = !now().running;
    worker?.postMessage({ run: now().running });
    said = `${progress(now())} It ${now().running ? "goes on" : "is stopped"}.`;
    show();
  }

  /** What the worker has done since it last spoke. */
  function receive(run, { step, losses, exam, seconds, ended }) {
    if (run !== now()) return;
    run.losses.push(...losses);
    Object.assign(run, { step, seconds, ended });
    run.running &&= !ended;
    if (exam) {
      run.exams.push({ step, ...exam });
      samples.replaceChildren(...table(exam.samples.slice(0, recipe.shown)));
      said = progress(run);
      show(); // drawing and words, of one update
    }
  }

  /** @param {Program} run */
  function progress({ name, step, seconds, losses, exams, mask, secret }) {
    const recent = losses.slice(-recipe.every);
    const sum = recent.reduce((a, b) => a + b, 0);
    const loss = losses.length ? number(sum / recent.length) : "–";
    const { right, of } = exams.at(-1) ?? {};
    const found = of ? ` ${right} of ${of} new strings are right.` : "";
    const why = secret ? "" : ` ${MASKS[mask]}`;
    return (
      `Program ${name}, update ${step} of ${steps}, ` +
      `${number(seconds ?? 0, 0)} seconds: loss ${loss}.` +
      `${found}${why}`
    );
  }

  /** What is read and written; wrong and missing letters are marked. */
  function table(rows) {
    const letters = (written, wanted) =>
      [...written.padEnd(wanted.length, "·")].map((x, i) =>
        x === wanted[i] ? x : make("mark", {}, x),
      );
    const head = ["it reads", "it writes", ""].map((x) => make("th", {}, x));
    return [
      make("caption", {}, "What it writes for new strings"),
      make("thead", {}, make("tr", {}, ...head)),
      make(
        "tbody",
        {},
        ...rows.map(([read, written, wanted]) => {
          const cells = [[read], letters(written, wanted)];
          cells.push([written === wanted ? "right" : "wrong"]);
          return make("tr", {}, ...cells.map((x) => make("td", {}, ...x)));
        }),
      ),
    ];
  }

  /** Buttons to say which mask a secret program has. */
  function ask(run) {
    const choose = (name) => () => {
      run.secret = false;
      const hit = name === run.mask ? "Yes" : "No";
      said = `${hit}: program ${run.name} is “${run.mask}”. ` + MASKS[run.mask];
      show();
      row.firstChild.focus({ preventScroll: true }); // the buttons are gone
    };
    return Object.keys(MASKS).map((name) => {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", choose(name));
      return button;
    });
  }

  function show() {
    const run = now();
    pause.textContent = run.running || run.ended ? "stop" : "go on";
    pause.disabled = run.ended;
    const open = run.secret && run.step >= 100;
    if (!open) guesses.replaceChildren();
    else if (!guesses.firstChild)
      guesses.append(`Which masks does program ${run.name} have?`, ...ask(run));
    widget.update();
  }

  const named = ({ name, task, mask, secret }) =>
    `${name}: ${task}, ${secret ? "a secret one" : mask}`;

  /** The means of each few losses, so that a line is not all noise. */
  function smooth(losses, few = 5) {
    return upTo(Math.floor(losses.length / few))
      .slice(1)
      .map((i) => {
        const some = losses.slice((i - 1) * few, i * few);
        const mean = some.reduce((a, b) => a + b) / few;
        return [i * few, Number.isFinite(mean) ? Math.min(4, mean) : 4];
      });
  }

  return (svg, room) => {
    worker?.postMessage({ settings: settings() });
    const wide = room >= 560;
    const width = wide ? (room - 40) / 2 : room;
    const half = Math.max(120, width - 46);
    const lower = wide ? 0 : 192;
    const top = 22 + 18 * Math.max(1, runs.length);
    const marks = [0, 200, 400, 600].filter((x) => x <= steps);
    const xTicks = Object.fromEntries(marks.map((x) => [x, String(x)]));
    const loss = chart(svg, {
      box: [28, top, half, 120],
      ...{ x: [0, steps], y: [0, 4], xTicks },
      yTicks: { 0: "0", 2: "2", 4: "4" },
      ...{ title: "loss, in nats per letter", xLabel: "update" },
    });
    const share = chart(svg, {
      box: [28 + (wide ? width + 40 : 0) + 14, top + lower, half - 14, 120],
      ...{ x: [0, steps], y: [0, 1], xTicks },
      yTicks: { 0: "0", 0.5: "50%", 1: "100%" },
      ...{ title: "new strings without a slip", xLabel: "update" },
    });
    runs.forEach((run, i) => {
      const kind = (run.name.charCodeAt(0) - 65) % 3;
      const line = `line series-${kind}${run === now() ? " on" : ""}`;
      loss.line(smooth(run.losses), line);
      const exams = run.exams.map(({ step, right, of }) => [step, right / of]);
      share.line([[0, 0], ...exams], line);
      text(svg, 0, 12 + 18 * i, named(run), `ink-${kind} on`);
    });
    if (!runs.length) text(svg, 0, 12, "No program has been trained yet.");
    size(svg, room, top + lower + 160);
    if (said) return said;
    return (
      `Ready: task ${task.value}, masks ${mask.value}, learning rate ` +
      `${rate.value}, warm-up of ${warmup.value} updates.`
    );
  };
});
