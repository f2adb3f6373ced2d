// Filters over the ledger's table. Without scripts all its rows are shown.
const table = document.querySelector("table.ledger");
const rows = [...table.tBodies[0].rows];
const columns = { source: 1, chapter: 2, "rests on": 3, verdict: 4 };

// All sections of the paper are one source; so are works named once or twice.
const SOURCES = ["The paper", "commentaries", "this book"];
const OTHER = "other works";

function value(row, column) {
  const text = row.cells[column].textContent.trim();
  if (column !== columns.source) return text;
  return SOURCES.find((source) => text.includes(source)) ?? OTHER;
}

const form = document.createElement("form");
form.className = "ledger-filter";
const shown = document.createElement("output");

for (const [name, column] of Object.entries(columns)) {
  const count = new Map();
  for (const row of rows) {
    const key = value(row, column);
    count.set(key, (count.get(key) ?? 0) + 1);
  }
  const select = document.createElement("select");
  select.append(new Option("all", ""));
  const last = ([key]) => key === OTHER;
  for (const [key, number] of [...count].sort((a, b) => last(a) - last(b)))
    select.append(new Option(`${key} (${number})`, key));
  const label = document.createElement("label");
  label.append(name, select);
  form.append(label);
}
const reset = document.createElement("button");
reset.type = "reset";
reset.textContent = "show all";
form.append(reset, shown);
table.before(form);

function filter() {
  const chosen = [...form.querySelectorAll("select")].map((s) => s.value);
  for (const row of rows)
    row.hidden = Object.values(columns).some(
      (column, i) => chosen[i] && value(row, column) !== chosen[i],
    );
  const number = rows.filter((row) => !row.hidden).length;
  shown.textContent = `${number} of ${rows.length} claims`;
}

form.addEventListener("change", filter);
form.addEventListener("reset", () => setTimeout(filter));
form.addEventListener("submit", (event) => event.preventDefault());
filter();
