// What scripts write, in the language of the page: say("{} of {}", 1, 6).
// An edition's pages load their `translations` before this; a text without
// one stays English. Its blanks may be numbered, {1} before {0}.
"use strict";

// Only what fills a blank decides: 看 dog（7%）, but 看逗号.
const TOO_WIDE =
  /(?<=[，。：；？！（）、]) | (?=[，。：；？！（）、])|(?<=\p{Script=Han}) (?=\p{Script=Han})/gu;

// The same where elements fill the blanks: a list of what is to be appended.
globalThis.phrase = (text, ...given) => {
  let next = 0;
  return (globalThis.translations?.[text] ?? text)
    .split(/\{(\d?)\}/)
    .flatMap((part, i) => (i % 2 ? given[part || next++] : part));
};

globalThis.say = (text, ...given) => {
  const said = phrase(text, ...given).join("");
  if (!globalThis.translations) return said;
  return said.replace(TOO_WIDE, "");
};
