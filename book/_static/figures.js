// A tap, a click or Enter on a figure shows it large, in a window of its own.
"use strict";

(() => {
  const STEP = 1.25;

  function make(name, given, ...inside) {
    const element = Object.assign(document.createElement(name), given);
    element.append(...inside);
    return element;
  }

  function enlarge(picture) {
    const large = picture.cloneNode();
    const given = { className: "enlarged-stage", role: "region", tabIndex: 0 };
    const stage = make("div", given, large);
    stage.ariaLabel = say("Figure; the arrow keys move it");
    const caption = picture.closest("figure").querySelector("figcaption");
    const words = caption.cloneNode(true);
    words.querySelector(".headerlink")?.remove();
    words.tabIndex = 0; // a long one scrolls

    // Zoom about the middle of what is seen.
    const zoom = (factor) => {
      const { clientWidth, clientHeight } = stage;
      const middle = (at, room) => (at + room / 2) * factor - room / 2;
      const left = middle(stage.scrollLeft, clientWidth);
      const top = middle(stage.scrollTop, clientHeight);
      large.style.width = `${large.clientWidth * factor}px`;
      stage.scrollTo(left, top);
    };
    const button = (textContent, ariaLabel, onclick) =>
      make("button", { type: "button", textContent, ariaLabel, onclick });
    const larger = () => zoom(STEP);
    const smaller = () => zoom(1 / STEP);
    const dialog = make(
      "dialog",
      { className: "enlarged", ariaLabel: say("Figure, enlarged") },
      button("−", say("Smaller"), smaller),
      button("+", say("Larger"), larger),
      button(say("Close"), say("Close"), () => dialog.close()),
      make("figure", {}, stage, words),
    );
    dialog.addEventListener("keydown", ({ key }) => {
      if (key === "+" || key === "=") larger();
      if (key === "-") smaller();
      if (key === "Escape") dialog.close(); // the theme keeps it from closing
    });
    dialog.addEventListener("close", () => dialog.remove());
    document.querySelector("article")?.append(dialog);
    dialog.showModal();
    const { naturalWidth: width, naturalHeight: height } = picture;
    const rooms = [stage.clientWidth / width, stage.clientHeight / height];
    const whole = width * Math.min(...rooms); // but larger than it was
    large.style.width = `${Math.max(whole, STEP * picture.clientWidth)}px`;
    stage.focus();
  }

  for (const picture of document.querySelectorAll("article figure img")) {
    const onclick = () => enlarge(picture);
    const given = {
      type: "button",
      className: "enlarge",
      title: say("Enlarge"),
    };
    const button = make("button", { ...given, onclick });
    button.ariaHasPopup = "dialog";
    picture.replaceWith(button);
    button.append(picture);
  }
})();
