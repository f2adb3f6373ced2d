/**
 * The button that brings the translator. The page loads this file alone; the
 * program and the weights come when the reader asks for them, as classic
 * scripts from this file's own folder, which a page opened as a file may load
 * as well as one from a server.
 */
(() => {
  const PARTS = [
    ...["weights", "tokenizer", "casing", "model", "beam_search"],
    ...["elements", "attention", "interface"],
  ];
  const here = document.currentScript.src;

  /** Load one script; the promise fails with its name. */
  const load = (name) =>
    new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = new URL(`${name}.js`, here).href;
      script.onload = done;
      script.onerror = () => fail(new Error(`${name}.js was not found`));
      document.head.append(script);
    });

  for (const place of document.querySelectorAll(".at-translator")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "at-main";
    button.textContent = "Try it here";
    const note = document.createElement("p");
    note.className = "at-note";
    note.setAttribute("role", "status");
    note.textContent =
      "Loads the model into this page; what you type does not leave it.";
    const bar = document.createElement("div");
    bar.className = "at-start";
    bar.append(button, note);
    place.prepend(bar);

    button.addEventListener("click", async () => {
      button.disabled = true;
      note.textContent = "Loading the model.";
      try {
        for (const part of PARTS) await load(part);
        globalThis.translatorInPage.show(place);
        bar.remove();
        place.querySelector("textarea").focus();
      } catch (error) {
        button.disabled = false;
        note.textContent =
          `The translator cannot run here: ${error.message}. ` +
          "The example below was computed when the book was made.";
      }
    });
  }
})();
