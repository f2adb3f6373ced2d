// Filters and order of the ledger. Without scripts all its claims are shown.
"use strict";

(() => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const found = document.querySelectorAll("details.claim");
  const claims = [...found];
  const table = /** @type {HTMLTableElement} */ (
    document.querySelector("table.ledger")
  );
  const heads = [...table.rows[0].cells];

  function row(claim) {
    return /** @type {HTMLTableRowElement} */ (claim.closest("tr"));
  }

  function title(claim, key) {
    if (key !== "page") return claim.dataset[key];
    return claim.querySelector("a.internal")?.textContent ?? "";
  }

  const form = /** @type {HTMLFormElement} */ (
    document.querySelector("form.ledger-filter")
  );
  const keys = [...form.querySelectorAll("select")].map(({ name }) => name);
  const unfold = form.elements["unfold"];
  const shown = form.elements["shown"];

  for (const key of keys) {
    const count = new Map();
    const names = new Map();
    for (const claim of claims) {
      const value = claim.dataset[key];
      count.set(value, (count.get(value) ?? 0) + 1);
      names.set(value, title(claim, key).trim() || value);
    }
    for (const [value, number] of count)
      form.elements[key].append(
        new Option(`${names.get(value)} (${number})`, value),
      );
  }

  const visible = () => claims.filter((claim) => !row(claim).hidden);

  function filter() {
    for (const claim of claims)
      row(claim).hidden = keys.some((key) => {
        const chosen = form.elements[key].value;
        return chosen && chosen !== claim.dataset[key];
      });
    count();
  }

  function count() {
    shown.textContent = `${visible().length} of ${claims.length} claims`;
  }

  // What begins with a number is ordered by it; words stand after numbers.
  function value(line, column) {
    const text = line.cells[column].innerText
      .trim()
      .replace("−", "-")
      .replace(/(^|\s)10⁻/, "1·10⁻");
    const [, number, power = "0"] =
      /^(?:<|below|equals|at most|at least)? ?(-?[\d.,]+)(?:·?10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?/.exec(
        text,
      ) ?? [];
    if (!number) return [Infinity, text];
    const down = [...power].map((x) => Math.max("⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(x), 0));
    return [
      Number(number.replace(",", "")) / 10 ** Number(down.join("")),
      text,
    ];
  }

  function order(head, column) {
    const up = head.ariaSort !== "ascending";
    for (const other of heads) other.ariaSort = null;
    head.ariaSort = up ? "ascending" : "descending";
    const [body] = table.tBodies;
    const each = [...body.rows].map((line) => ({
      line,
      by: value(line, column),
    }));
    each.sort(({ by: [a, x] }, { by: [b, y] }) => {
      if (isFinite(a) !== isFinite(b)) return isFinite(a) ? -1 : 1;
      const sign = a === b ? x.localeCompare(y) : a - b;
      return up ? sign : -sign;
    });
    body.append(...each.map(({ line }) => line));
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(head.innerText.trim());
    button.addEventListener("click", () => order(head, column));
    head.replaceChildren(button);
  });

  function openLinked() {
    const claim = claims.find(({ id }) => id === location.hash.slice(1));
    if (!claim) return;
    row(claim).hidden = false; // whatever is filtered
    count();
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
  document.addEventListener("click", ({ target }) => {
    const link = /** @type {Element} */ (target).closest("a[href]");
    // A link to where the page is already changes no address.
    if (link?.getAttribute("href") === location.hash) openLinked();
  });
  addEventListener("beforeprint", () => {
    for (const claim of visible()) claim.open = true;
  });
  filter();
  openLinked();
})();
