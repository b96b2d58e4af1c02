import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { demoPicture, pictureFile, terminalSvg } from "../../../scripts/demo/view/picture.ts";

const size = { columns: 20, rows: 2 };

test("text keeps its column and its colour", () => {
  const svg = terminalSvg(["ab \u001B[31m cd\u001B[0m e"], size);
  const texts = [...svg.matchAll(/<text( class="\w+")? x="([\d.]+)"[^>]*>([^<]*)</g)].map((found) => found.slice(1));
  const [origin, step] = [10, 8.4];
  assert.deepEqual(texts, [
    [undefined, origin.toFixed(1), "ab"],
    [' class="bad"', (origin + 4 * step).toFixed(1), "cd"],
    [undefined, (origin + 7 * step).toFixed(1), "e"],
  ]);
});

test("text cannot break the picture, and no escape sequence is left", () => {
  const svg = terminalSvg(["\u001B[1m<b> & c\u001B[0m"], size);
  assert.match(svg, />&lt;b&gt; &amp; c</);
  assert.doesNotMatch(svg, /\u001B/);
});

test("docs/demo.svg shows what the live view draws today; run scripts/demo/view/picture.ts to write it again", () => {
  assert.equal(readFileSync(pictureFile, "utf8"), demoPicture());
});
