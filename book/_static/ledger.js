// Filters over the ledger. Without scripts all its claims are shown, folded.
"use strict";

(() => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const found = document.querySelectorAll("details.claim");
  const claims = [...found];
  const keys = ["verdict", "source", "page"];

  function title(claim, key) {
    if (key !== "page") return claim.dataset[key];
    return claim.querySelector("a.internal")?.textContent ?? "";
  }

  const form = document.createElement("form");
  form.className = "ledger-filter";
  const shown = document.createElement("output");

  for (const key of keys) {
    const count = new Map();
    const names = new Map();
    for (const claim of claims) {
      const value = claim.dataset[key];
      count.set(value, (count.get(value) ?? 0) + 1);
      names.set(value, title(claim, key).trim() || value);
    }
    const select = document.createElement("select");
    select.name = key;
    select.append(new Option("all", ""));
    for (const [value, number] of count)
      select.append(new Option(`${names.get(value)} (${number})`, value));
    const label = document.createElement("label");
    label.append(key, select);
    form.append(label);
  }
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "show all";
  const unfold = document.createElement("button");
  unfold.type = "button";
  unfold.textContent = "unfold";
  form.append(reset, unfold, shown);
  /** @type {NodeListOf<HTMLElement>} */
  const groups = document.querySelectorAll("div.claims");
  groups[0].before(form);

  const visible = () => claims.filter((claim) => !claim.hidden);

  function filter() {
    for (const claim of claims)
      claim.hidden = keys.some((key) => {
        const chosen = form.elements[key].value;
        return chosen && chosen !== claim.dataset[key];
      });
    for (const group of groups)
      group.hidden = !group.querySelector("details.claim:not([hidden])");
    shown.textContent = `${visible().length} of ${claims.length} claims`;
  }

  function openLinked() {
    const claim = claims.find(({ id }) => id === location.hash.slice(1));
    if (!claim) return;
    claim.hidden = false;
    claim.open = true;
    claim.scrollIntoView();
  }

  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  unfold.addEventListener("click", () => {
    const some = visible().some((claim) => !claim.open);
    for (const claim of visible()) claim.open = some;
  });
  // A fold can be opened one by one, too: the button says what it would do.
  document.addEventListener(
    "toggle",
    () => {
      const some = visible().some((claim) => !claim.open);
      unfold.textContent = some ? "unfold" : "fold";
    },
    true,
  );
  addEventListener("hashchange", openLinked);
  addEventListener("beforeprint", () => {
    for (const claim of visible()) claim.open = true;
  });
  filter();
  openLinked();
})();
