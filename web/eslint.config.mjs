// SPDX-License-Identifier: GPL-2.0-or-later
// Rules for `make check-web`. Run by eslint, which is no part of the build.

import js from "@eslint/js";

const names = (words) => Object.fromEntries(words.split(" ").map((word) => [word, "readonly"]));

export default [
  js.configs.recommended,
  {
    files: ["web/*.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "module",
      globals: names("document window location history navigator matchMedia getComputedStyle addEventListener setTimeout " +
        "clearTimeout innerWidth innerHeight devicePixelRatio Node URLSearchParams atob Response DecompressionStream TextDecoderStream"),
    },
    rules: {
      "no-restricted-properties": ["error", ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) =>
        ({ property, message: "names are hostile input: set textContent" }))],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "eval"],
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
      complexity: ["error", 16],
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-unused-vars": ["error", { caughtErrors: "none" }],
    },
  },
  { // the one module that talks to a server
    files: ["web/serve_api.js"],
    languageOptions: { globals: names("fetch sessionStorage URL") },
    rules: { "no-restricted-globals": ["error", "XMLHttpRequest", "WebSocket", "eval"] },
  },
];
