// Made by make bundle from book/in_page: edit that.
(() => {
  // elements.js
  function make(tag, given = {}, ...inside) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name || "div");
    element.classList.add(...classes);
    if (name === "button") element.setAttribute("type", name);
    for (const [key, value] of Object.entries(given))
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  }
  var WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0] };
  Object.assign(WAYS, { ArrowDown: [0, 1], ArrowUp: [0, -1] });

  // start.js
  var NAMES = { translator: say("translator"), writer: say("writer") };
  var KINDS = { translator: offer, writer: offer, opened: comeNear };
  var here = (
    /** @type {HTMLScriptElement} */
    document.currentScript.src
  );
  var loaded = /* @__PURE__ */ new Map();
  function load(name) {
    const promise = new Promise((done, fail) => {
      const src = new URL(`${name}.js`, here).href;
      const error = () => {
        loaded.delete(name);
        fail(new Error(say("{}.js was not found", name)));
      };
      document.head.append(make("script", { src, load: done, error }));
    });
    loaded.set(name, promise);
    return promise;
  }
  async function program(kind) {
    for (const part of [`${kind}_weights`, "programs"])
      await (loaded.get(part) ?? load(part));
    const found = await globalThis.inPage.programs[kind]();
    return Object.assign(globalThis.inPage, { [kind]: found })[kind];
  }
  function offer(place, kind) {
    const click = async () => {
      button.disabled = true;
      note.textContent = say("Loading the model.");
      try {
        const { show } = await program(kind);
        const shown = show(place);
        bar.remove();
        shown.focus();
      } catch (error) {
        button.disabled = false;
        note.textContent = say(
          "The {} cannot run here: {}. The example below was computed when the book was made.",
          ...[NAMES[kind], error.message]
        );
      }
    };
    const button = make("button.at-main", { click }, say("Try it here"));
    const note = make(
      "p.at-note",
      { role: "status" },
      say("Loads the model into this page; what you type does not leave it.")
    );
    const bar = make(".at-start", {}, button, note);
    place.prepend(bar);
  }
  function comeNear(place, kind) {
    const near = new IntersectionObserver(
      async (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        near.disconnect();
        const { show } = await program(kind);
        const goal = document.querySelector(":target");
        const below = goal && place.compareDocumentPosition(goal) & Node.DOCUMENT_POSITION_FOLLOWING;
        const led = below && goal.getBoundingClientRect().top < innerHeight;
        const seen = led ? goal : place;
        const { top, bottom } = seen.getBoundingClientRect();
        show(place);
        if (bottom > 0) scrollBy(0, seen.getBoundingClientRect().top - top);
      },
      { rootMargin: "100%" }
    );
    near.observe(place);
  }
  for (const [kind, bring] of Object.entries(KINDS))
    for (const place of document.querySelectorAll(`.at-place.at-${kind}`))
      bring(place, kind);
})();
