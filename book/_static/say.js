// What scripts write, in the language of the page: say("{} of {}", 1, 6).
// An edition's pages load their `translations` before this; a text without
// one stays English. Its blanks may be numbered, {1} before {0}.
"use strict";

globalThis.say = (text, ...given) => {
  let next = 0;
  return (globalThis.translations?.[text] ?? text).replace(
    /\{(\d?)\}/g,
    (_, place) => String(given[place || next++]),
  );
};
