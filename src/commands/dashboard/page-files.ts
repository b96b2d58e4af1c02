/**
 * The page as one file. Its sources are ES modules, a style sheet and a document in assets/dashboard, which browsers
 * could load as they are; joined, they need no second request.
 */
import { hash } from "node:crypto";
import { readCarried } from "../carried/files.ts";

/** Each module after those that it imports. */
export const moduleNames = [
  "element.js",
  "words.js",
  "sparkline.js",
  "live.js",
  "rows.js",
  "parts.js",
  "explain.js",
  "main.js",
];

export interface Page {
  readonly html: string;
  /** "'sha256-…'", as a Content-Security-Policy names what may be in the page. */
  readonly styleHash: string;
  readonly scriptHash: string;
}

/** Throws when a file is missing: the program was not built as a whole. */
export function joinPage(read: (name: string) => string = readPageFile): Page {
  const style = read("page.css");
  const script = moduleNames.map((name) => asPart(read(name))).join("\n");
  // Functions as replacements: a "$" in a source is no pattern.
  const html = read("page.html")
    .replace("<!-- style -->", () => `<style>${style}</style>`)
    .replace("<!-- script -->", () => `<script type="module">${script}</script>`);
  return { html, styleHash: sourceHash(style), scriptHash: sourceHash(script) };
}

/** A module without its imports and exports: all of them are in one scope. */
function asPart(source: string): string {
  return source.replaceAll(/^import [^;]*;\n/gm, "").replaceAll(/^export /gm, "");
}

function sourceHash(source: string): string {
  return `'sha256-${hash("sha256", source, "base64")}'`;
}

function readPageFile(name: string): string {
  return readCarried(`assets/dashboard/${name}`);
}
