import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalSvg } from "../../scripts/pictures/terminal-svg.ts";

const picture = { columns: 20, rows: 2, label: 'a "label"', theme: "both" } as const;

test("text keeps its column and its colour", () => {
  const svg = terminalSvg(["ab \u001B[31m cd\u001B[0m e"], picture);
  const texts = [...svg.matchAll(/<text( class="\w+")? x="([\d.]+)"[^>]*>([^<]*)</g)].map((found) => found.slice(1));
  const [origin, step] = [10, 8.4];
  assert.deepEqual(texts, [
    [undefined, origin.toFixed(1), "ab"],
    [' class="bad"', (origin + 4 * step).toFixed(1), "cd"],
    [undefined, (origin + 7 * step).toFixed(1), "e"],
  ]);
});

test("text cannot break the picture, and no escape sequence is left", () => {
  const svg = terminalSvg(["\u001B[1m<b> & c\u001B[0m"], picture);
  assert.match(svg, />&lt;b&gt; &amp; c</);
  assert.doesNotMatch(svg, /\u001B/);
});

test("a picture follows the reader's system, unless it is dark always", () => {
  const schemes = /@media \(prefers-color-scheme: dark\)/;
  assert.match(terminalSvg([], picture), schemes);
  assert.doesNotMatch(terminalSvg([], { ...picture, theme: "dark" }), schemes);
});

test("every colour can be read on its ground", () => {
  const styles = /<style>([^]*)<\/style>/.exec(terminalSvg([], picture))?.[1] ?? "";
  const schemes = styles.split("@media");
  assert.equal(schemes.length, 2);
  for (const scheme of schemes) {
    const [ground = "", ...texts] = Array.from(scheme.matchAll(/fill: (#[0-9a-f]{6})/g), ([, colour = ""]) => colour);
    assert.equal(texts.length, 6);
    for (const text of texts) assert.ok(contrast(ground, text) >= 4.5, `${text} on ${ground}`);
  }
});

/** Of two colours, as WCAG 2 has it. */
function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
