import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { joinPage, moduleNames } from "../../../../src/commands/dashboard/page-files.ts";

const folder = path.join(import.meta.dirname, "../../../../assets/dashboard");

test("all files of the page are joined, and no other is named", () => {
  assert.deepEqual(["page.html", "page.css", ...moduleNames].sort(), readdirSync(folder).sort());
});

test("the page is one document without anything from elsewhere", () => {
  const { html } = joinPage();
  assert.doesNotMatch(html, /<!-- (?:style|script) -->/);
  assert.doesNotMatch(html, /<(?:script|link|img|iframe)[^>]*\s(?:src|href)="(?!data:)/);
  assert.doesNotMatch(html, /@import|url\(|\bimport\(/);
  // The one URL names what an SVG element is.
  assert.deepEqual(html.match(/https?:[^"'\s]*/g), ["http://www.w3.org/2000/svg"]);
});

test("style and script have the hashes that the policy names", () => {
  const { html, styleHash, scriptHash } = joinPage();
  const hashOf = (pattern: RegExp): string => `'sha256-${hash("sha256", pattern.exec(html)?.[1] ?? "", "base64")}'`;
  assert.equal(styleHash, hashOf(/<style>(.*?)<\/style>/s));
  assert.equal(scriptHash, hashOf(/<script type="module">(.*?)<\/script>/s));
});

test("names of objects are never written as markup", () => {
  const script = /<script type="module">(.*?)<\/script>/s.exec(joinPage().html)?.[1] ?? "";
  assert.doesNotMatch(script, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/);
});

test("modules lose their imports and exports, and stand after those that they import", () => {
  const sources: Record<string, string> = {
    "page.html": "<!-- style -->|<!-- script -->",
    "page.css": "a {}",
    "element.js": "export function a() {}\n",
    "main.js": 'import {\n  a,\n} from "./element.js";\nimport { b } from "./words.js";\na("$&");\n',
  };
  const { html } = joinPage((name) => sources[name] ?? "");
  const [style, script] = html.split("|");
  assert.equal(style, "<style>a {}</style>");
  assert.match(script ?? "", /^<script type="module">function a\(\) \{\}\n\n*a\("\$&"\);\n<\/script>$/);
});

test("each module stands after those that it imports", async () => {
  const { readFileSync } = await import("node:fs");
  for (const [index, name] of moduleNames.entries()) {
    const imported = readFileSync(path.join(folder, name), "utf8").matchAll(/^import [^;]* from "\.\/([^"]+)";/gm);
    for (const [, other = ""] of imported) assert(moduleNames.indexOf(other) < index, `${name} before ${other}`);
  }
});
