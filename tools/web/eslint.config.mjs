import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";

export default defineConfig([
  globalIgnores([
    "book/_static/search/minisearch.js", // another's program
    "book/_static/in_page/*.js", // bundled from book/in_page
  ]),
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "error",
      eqeqeq: "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-undef": "off", // tsc knows what browsers and the other scripts have
      "no-unreachable-loop": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["book/_static/**/*.js"], // a page opened as a file has no modules
    languageOptions: { sourceType: "script" },
    rules: {
      "no-unused-vars": ["error", { vars: "local" }], // others may use them
    },
  },
]);
