// The search page: the sections that answer, with an excerpt, from one script.
// MiniSearch makes the index and ranks; stop words and stems are Sphinx's.
"use strict";

// What learners type, words that stand side by side, and those in which the
// book tells it.
const ALSO = new Map(
  Object.entries({
    bpe: "byte pair encoding",
    chatbot: "language model",
    ddp: "torchrun processes",
    ffn: "feed forward",
    gqa: "grouped query",
    gpt: "decoder only",
    huggingface: "hugging face",
    invent: "hallucinations",
    interpolation: "slow rotations",
    kv: "keys values kept",
    lr: "learning rate",
    mha: "multi head attention",
    mqa: "multi query",
    multiple: "several",
    multihead: "several looks heads",
    normaliser: "text prepared",
    oom: "out of memory",
    own: "two files",
    positional: "sines cosines",
    prefix: "exposure bias",
    prefixes: "exposure bias",
    qkv: "query key value",
    resume: "stopping going on",
    rope: "rotary",
    skip: "residual",
    stretching: "slow rotations",
    terminology: "term forced",
    "things up": "hallucinations",
    tokenization: "subwords",
    tokenizer: "text prepared",
    tying: "one table matrix",
    位置编码: "正弦 余弦",
    多个头: "多头注意力",
  }),
);

// An edition's pages stand in place of the English ones.
const own = globalThis.EDITION;
if (own) {
  const first = BOOK.pages.length;
  const there = new Set(own.pages.map(([page]) => page.replace(/^\w+\//, "")));
  const kept = BOOK.sections.filter(
    ([page]) => !there.has(BOOK.pages[page][0]),
  );
  for (const section of own.sections) section[0] += first;
  BOOK.sections = [...kept, ...own.sections];
  BOOK.pages.push(...own.pages);
  // its terms lead to what is there in English alone
  for (const [name, english] of Object.entries(own.terms))
    ALSO.set(name, `${english} ${ALSO.get(name) ?? ""}`);
}

const stemmer = new Stemmer();
const asked =
  "do does how i my what why " +
  "为什么 什么 怎样 怎么 如何 哪 哪个 吗 呢 的 了 是 有 会 要 在 和 与";
const silent = new Set([...stopwords, ...asked.split(" ")]);
silent.delete("not");

// The words of a text: `padding_mask`, `LayerNorm` and `warm-up` are found
// whole, in parts and, of the last, without its hyphen. Chinese has no blanks;
// which signs are a word, the browser knows, and the book knows its terms.
const WORD =
  /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+(?:[-’'][\p{L}\p{N}_]+)*/gu;
const HAN = /\p{Script=Han}/u;
const segmenter = new Intl.Segmenter("zh", { granularity: "word" });
const segments = (text) =>
  [...segmenter.segment(text)].map(({ segment }) => segment);

const terms = [...ALSO.keys()].filter(
  (name) => HAN.test(name) && name.length > 1,
);
const termsIn = (text) => terms.filter((name) => text.includes(name));

function parts(word) {
  if (HAN.test(word)) return [...segments(word), ...termsIn(word)];
  const pieces = word
    .replace(/[’']s$/, "")
    .replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ")
    .split(/[ _’'-]+/u)
    .filter(Boolean);
  return pieces.length > 1 ? [pieces.join(""), ...pieces] : pieces;
}

function term(word) {
  const small = word.toLowerCase();
  return silent.has(small) ? null : stemmer.stemWord(small);
}

// a letter and its accent are one character, as the pages have it
const tokenize = (text) => (text.normalize().match(WORD) ?? []).flatMap(parts);

const index = new MiniSearch({
  fields: ["title", "page", "text", "names"],
  tokenize,
  processTerm: term,
});
index.addAll(
  BOOK.sections.map(([page, , title, text, names], id) => ({
    id,
    title,
    page: BOOK.pages[page][1],
    text,
    names,
  })),
);

// The chapters come first; after all others, what lists, tests or repeats.
const LATER =
  /^(Claim |Exercises|Five questions|What we have|References|Where we differ|练习|五个问题|本章成果|与原论文的不同|不同之处|术语中英对照|从原论文到软件包)/;

function weight(id) {
  const [page, , title] = BOOK.sections[id];
  const [address, name] = BOOK.pages[page];
  const listed = /\/api(_wings)?\.html$/.test(address);
  if (listed || LATER.test(bare(title))) return 0.25;
  return /^\d/.test(name) ? 1.5 : 1;
}

const bare = (title) => title.replace(/^[\d.]+ /, "");
const stems = (text) => tokenize(text).map(term).filter(Boolean);

// All the words count more than some, and side by side more than apart.
function find(query) {
  const typed = stems(query);
  const words = ` ${tokenize(query.toLowerCase()).join(" ")} `;
  const also = [...ALSO.keys()].filter((said) => words.includes(` ${said} `));
  const told = also.map((said) => ALSO.get(said)).join(" ");
  const whole = new RegExp(`(^| )${typed.join(" ")}( |$)`);
  const found = index.search(`${query} ${told}`, {
    boost: { title: 3, page: 1.5, names: 0.5 },
    boostTerm: (word) => (typed.includes(word) ? 1 : 0.5),
    boostDocument: weight,
    prefix: (word) => word.length > (HAN.test(word) ? 1 : 2),
    fuzzy: (word) => (word.length > 4 ? 0.2 : false),
    weights: { prefix: 0.3, fuzzy: 0.2 },
  });
  for (const one of found) {
    const [, , title, text] = BOOK.sections[one.id];
    const met = typed.filter((word) => one.queryTerms.includes(word));
    one.score *= (1 + met.length) / (1 + typed.length);
    if (whole.test(stems(`${title} ${text}`).join(" "))) one.score *= 1.5;
  }
  return found.sort((a, b) => b.score - a.score);
}

// ---- the page

const root = document.documentElement.dataset.content_root?.replace(
  /^\.\//,
  "",
);
const SHOWN = 20;
const [WORDS, SEGMENTS] = [32, 64]; // of an excerpt

// The stretch of a text in which most of the words asked for stand.
function excerpt(text, wanted) {
  const chinese = HAN.test(text);
  const all = chinese ? segments(text) : text.split(" ");
  const [gap, length] = chinese ? ["", SEGMENTS] : [" ", WORDS];
  const met = all.map((word) => stems(word).filter((one) => wanted.has(one)));
  const hits = met.map((terms) => terms.length > 0);
  let [best, from] = [-1, 0];
  for (let start = 0; start <= Math.max(0, all.length - length); start++) {
    const terms = met.slice(start, start + length).flat();
    const worth = new Set(terms).size + terms.length / 100; // each, then often
    if (worth > best) [best, from] = [worth, start];
  }
  const first = hits.indexOf(true, from);
  const start = Math.max(0, Math.min(from, first < 0 ? from : first - 6));
  const line = document.createElement("p");
  if (start > 0) line.append("… ");
  for (let at = start; at < Math.min(start + length, all.length); at++) {
    if (hits[at]) {
      const mark = document.createElement("mark");
      mark.textContent = all[at];
      line.append(mark, gap);
    } else line.append(all[at], gap);
  }
  if (start + length < all.length) line.append("…");
  return line;
}

function result({ id, terms }) {
  const [page, anchor, title, text] = BOOK.sections[id];
  const [address, name] = BOOK.pages[page];
  const item = document.createElement("li");
  const link = document.createElement("a");
  const from = document.createElement("span");
  link.href = `${root}${address}#${anchor}`;
  link.textContent = title;
  from.textContent = name;
  from.className = "from";
  item.append(link);
  if (bare(title) !== bare(name)) item.append(" ", from);
  item.append(excerpt(text, new Set(terms)));
  return item;
}

function show(query) {
  const found = stems(query).length ? find(query) : [];
  const list = document.createElement("ol");
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  const draw = (some) => list.append(...some.map(result));
  place.replaceChildren(said, list);
  if (!query.trim()) return;
  said.textContent = found.length
    ? found.length > 1
      ? say("{} sections, the best first", found.length)
      : say("1 section, the best first")
    : say(
        "No section has “{}”. The notation and the API list names; the " +
          "contents are in the menu.",
        query.trim(),
      );
  draw(found.slice(0, SHOWN));
  if (found.length > SHOWN) {
    const more = document.createElement("button");
    more.type = "button";
    more.className = "btn btn-outline-primary";
    more.textContent = say("show the other {}", found.length - SHOWN);
    more.addEventListener("click", () => {
      more.remove();
      draw(found.slice(SHOWN));
      list.children[SHOWN].querySelector("a")?.focus();
    });
    place.append(more);
  }
}

const place = /** @type {HTMLElement} */ (
  document.getElementById("search-results")
);
const form = /** @type {HTMLFormElement} */ (
  place.parentElement?.querySelector("form.bd-search")
);
const asking = new URLSearchParams(location.search).get("q") ?? "";
/** @type {NodeListOf<HTMLInputElement>} */
const fields = document.querySelectorAll("form.bd-search input");
for (const field of fields) field.value = asking;
const PAUSE = 150; // ms between two keys, after which an answer is wanted
let pause;
let shown = asking;

// What is asked now, unless it is what was answered last.
function answer() {
  clearTimeout(pause);
  const query = String(new FormData(form).get("q"));
  if (query === shown) return;
  shown = query;
  history.replaceState(null, "", `?${new URLSearchParams({ q: query })}`);
  show(query);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  answer();
});
form.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(answer, PAUSE);
});
show(asking);
