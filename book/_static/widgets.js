// Live figures: what they share. Each figure is a file of its own in
// widgets/; it registers a function that makes its controls and returns
// another that draws and says in words what is to be seen.
"use strict";

const widgets = (() => {
  const formulas = {}; // by name; the tests compare them with the package

  formulas.softmax = (scores) => {
    const most = Math.max(...scores); // so that no exponential overflows
    const e = scores.map((score) => Math.exp(score - most));
    const sum = e.reduce((a, b) => a + b);
    return e.map((value) => value / sum);
  };

  // An element with its attributes and what stands in it.
  function make(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
  }

  // The same for a shape of a drawing.
  function shape(name, attributes = {}, ...children) {
    const SVG = "http://www.w3.org/2000/svg";
    return fill(document.createElementNS(SVG, name), attributes, children);
  }

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // "d_k and d_model" with the indices lowered.
  function lowered(text) {
    const parts = text.split(/_(\w+)/);
    return parts.map((part, i) => (i % 2 ? make("sub", {}, part) : part));
  }

  // A number as it is read: 12,345 or −6.30, and never −0.00.
  function number(value, digits = 2) {
    const options = { maximumFractionDigits: digits };
    if (!Number.isInteger(value)) options.minimumFractionDigits = digits;
    const rounded = Number(value.toFixed(digits)) || 0;
    return rounded.toLocaleString("en", options).replace("-", "−");
  }

  function percent(share) {
    const whole = Math.round(100 * share);
    return `${share > 0 && !whole ? "<1" : whole}%`;
  }

  const upTo = (last) => [...Array(last + 1).keys()];

  let count = 0;

  // A slider over a list of values; show says a value in words. It is put
  // among controls, and what depends on it is updated when it moves.
  function slider(controls, update, label, values, start, show = String) {
    const id = `slider-${++count}`;
    const input = make("input", { type: "range", id, min: 0, step: 1 });
    const output = make("span", { "aria-hidden": true }); // also valuetext
    const slider = {
      input,
      values,
      get value() {
        return this.values[input.value];
      },
      set value(value) {
        input.value = Math.max(0, this.values.indexOf(value));
        this.tell();
      },
      // Other values; what was chosen stays, or the last one is taken.
      offer(values, value = slider.value) {
        this.values = values;
        input.max = values.length - 1;
        this.value = values.includes(value) ? value : values.at(-1);
      },
      tell() {
        const said = show(this.value);
        output.textContent = said;
        input.setAttribute("aria-valuetext", said);
      },
    };
    slider.offer(values, start);
    input.addEventListener("input", () => {
      slider.tell();
      update();
    });
    const name = make("label", { for: id }, ...lowered(label));
    controls.append(
      make("div", { class: "widget-slider" }, name, output, input),
    );
    return slider;
  }

  class Widget {
    constructor(script, title, build) {
      this.data = JSON.parse(script.textContent);
      this.host = script.parentElement;
      this.id = `widget-${++count}`;
      this.controls = make("div", { class: "widget-controls" });
      this.stage = make("div", { class: "widget-stage" });
      this.under = make("div", { class: "widget-under" }); // for a table
      this.words = make("p", {
        class: "widget-words",
        id: `${this.id}-words`,
        role: "status",
        "aria-live": "polite",
      });
      this.title = make("p", { class: "widget-title" }, ...lowered(title));
      this.title.id = `${this.id}-title`;
      this.live = make(
        "div",
        { class: "widget-live", role: "group" },
        this.title,
        this.controls,
        this.stage,
        this.under,
        this.words,
      );
      this.live.setAttribute("aria-labelledby", this.title.id);
      this.draw = build(this);
      this.host.append(this.live);
      this.host.classList.add("is-live");
      new ResizeObserver(() => this.update()).observe(this.stage);
      this.update();
    }

    slider(...given) {
      return slider(this.controls, () => this.update(), ...given);
    }

    // One of several: options are [[value, text], ...].
    choice(label, options, start) {
      const field = make("fieldset", { class: "widget-choice" });
      field.append(make("legend", {}, ...lowered(label)));
      const name = `${this.id}-${this.controls.children.length}`;
      for (const [value, text] of options) {
        const input = make("input", { type: "radio", name, value });
        input.checked = value === start;
        const said = make("span", {}, ...lowered(text));
        field.append(make("label", {}, input, said));
      }
      field.addEventListener("change", () => this.update());
      this.controls.append(field);
      const chosen = () => field.querySelector("input:checked").value;
      return {
        get value() {
          return chosen();
        },
      };
    }

    // A sentence with menus in it: strings, and {label, values, start}.
    sentence(parts) {
      const line = make("p", { class: "widget-sentence" });
      const menus = [];
      for (const part of parts) {
        if (typeof part === "string") {
          line.append(part === "." ? part : ` ${part} `);
          continue;
        }
        const menu = make("select", { "aria-label": part.label });
        for (const value of part.values)
          menu.append(make("option", { value }, value));
        menu.value = part.start;
        menu.addEventListener("change", () => this.update());
        line.append(menu);
        menus.push(menu);
      }
      this.controls.append(line);
      return menus;
    }

    // A row of buttons: {text: what it does}.
    buttons(actions) {
      const row = make("div", { class: "widget-buttons" });
      for (const [text, action] of Object.entries(actions)) {
        const button = make("button", { type: "button" }, text);
        button.addEventListener("click", () => action(button));
        row.append(button);
      }
      this.controls.append(row);
      return row;
    }

    // Draw anew, as wide as there is room, and say what is seen.
    update() {
      const width = Math.floor(this.stage.clientWidth);
      if (!width || !this.draw) return; // not shown, or still being built
      const svg = shape("svg", { role: "img" });
      svg.setAttribute("aria-labelledby", this.title.id);
      svg.setAttribute("aria-describedby", this.words.id);
      const words = this.draw(svg, width);
      this.stage.replaceChildren(svg);
      const wide = this.stage.scrollWidth > this.stage.clientWidth;
      this.stage.tabIndex = wide ? 0 : -1; // so that keys can scroll it
      if (this.words.textContent !== words) this.words.textContent = words;
    }
  }

  // What lies left of `begin` is cut off.
  function size(svg, width, height, begin = 0) {
    const viewBox = `${begin} 0 ${width} ${height}`;
    fill(svg, { width, height, viewBox, class: begin ? "cut" : "" }, []);
  }

  function text(svg, x, y, said, kind = "") {
    const label = shape("text", { x, y, class: kind }, said);
    svg.append(label);
    return label;
  }

  // A bar to the right of x, and what is said behind it.
  function bar(svg, x, y, length, said, kind) {
    const width = Math.max(1, length);
    const box = { x, y, width, height: 16, class: `bar ${kind}` };
    svg.append(shape("rect", box));
    text(svg, x + width + 6, y + 13, said);
  }

  /**
   * Axes in a box [left, top, width, height]; x and y are [from, to].
   * Ticks are {value: text}. Returns where values lie, and a pen for lines.
   * @param {SVGElement} svg
   * @param {{box: number[], x: [number, number], y: [number, number],
   *   xTicks: object, yTicks: object, title?: string, xLabel?: string,
   *   log?: boolean}} given
   */
  function chart(svg, { box, x, y, xTicks, yTicks, title, xLabel, log }) {
    const [left, top, width, height] = box;
    const scale = log ? Math.log : (value) => value;
    const share = (v, [a, b], f) => (f(v) - f(a)) / (f(b) - f(a));
    const plain = (value) => value;
    const at = {
      x: (value) => left + width * share(value, x, scale),
      y: (value) => top + height * (1 - share(value, y, plain)),
    };
    for (const [value, said] of Object.entries(yTicks)) {
      const level = at.y(Number(value));
      const ends = { x1: left, x2: left + width, y1: level, y2: level };
      svg.append(shape("line", { ...ends, class: "grid" }));
      text(svg, left - 6, level + 4, said, "end");
    }
    for (const [value, said] of Object.entries(xTicks))
      text(svg, at.x(Number(value)), top + height + 16, said, "middle");
    if (xLabel)
      text(svg, left + width / 2, top + height + 33, xLabel, "middle muted");
    if (title) text(svg, left, top - 10, title, "title");
    at.line = (points, kind) => {
      const places = points.map(([a, b]) => `${at.x(a)},${at.y(b)}`);
      svg.append(shape("polyline", { points: places.join(" "), class: kind }));
    };
    return at;
  }

  // Build every figure of this name; one that fails leaves its text.
  function register(name, title, build) {
    for (const script of document.querySelectorAll(`[data-widget="${name}"]`))
      try {
        new Widget(script, title, build);
      } catch (error) {
        script.parentElement?.classList.remove("is-live");
        script.parentElement?.querySelector(".widget-live")?.remove();
        throw error;
      }
  }

  const drawing = { make, shape, text, size, bar, chart };
  return { formulas, register, slider, number, percent, upTo, ...drawing };
})();
