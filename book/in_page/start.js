/**
 * What brings a model: a button, or the reader's coming near. The page loads
 * this script alone; the program and the weights come when they are wanted, as
 * classic scripts from this one's own folder, which a page opened as a file
 * may load as well as one from a server.
 */

import { make } from "./elements.js";

const NAMES = { translator: say("translator"), writer: say("writer") };
const KINDS = { translator: offer, writer: offer, opened: comeNear };
const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
const loaded = new Map(); // a page may have places for several kinds

/** Load one script, once; the promise fails with its name. */
function load(name) {
  const promise = new Promise((done, fail) => {
    const src = new URL(`${name}.js`, here).href;
    const error = () => {
      loaded.delete(name); // the reader may try again
      fail(new Error(say("{}.js was not found", name)));
    };
    document.head.append(make("script", { src, load: done, error }));
  });
  loaded.set(name, promise);
  return promise;
}

/** The program of a kind, which finds its weights when it runs. */
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
        "The {} cannot run here: {}. The example below was computed when the " +
          "book was made.",
        ...[NAMES[kind], error.message],
      );
    }
  };
  const button = make("button.at-main", { click }, say("Try it here"));
  const note = make(
    "p.at-note",
    { role: "status" },
    say("Loads the model into this page; what you type does not leave it."),
  );
  const bar = make(".at-start", {}, button, note);
  place.prepend(bar);
}

/**
 * Show a place's kind as soon as the reader is a screen away from it. It may
 * grow, so what is seen stays where it was: what a link has led to below it,
 * or the place itself. If it fails, the still is left.
 */
function comeNear(place, kind) {
  const near = new IntersectionObserver(
    async (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      near.disconnect();
      const { show } = await program(kind);
      const goal = document.querySelector(":target");
      const below =
        goal &&
        place.compareDocumentPosition(goal) & Node.DOCUMENT_POSITION_FOLLOWING;
      const led = below && goal.getBoundingClientRect().top < innerHeight;
      const seen = led ? goal : place;
      const { top, bottom } = seen.getBoundingClientRect();
      show(place);
      if (bottom > 0) scrollBy(0, seen.getBoundingClientRect().top - top);
    },
    { rootMargin: "100%" },
  );
  near.observe(place);
}

for (const [kind, bring] of Object.entries(KINDS))
  for (const place of document.querySelectorAll(`.at-place.at-${kind}`))
    bring(place, kind);
