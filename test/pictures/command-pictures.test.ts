import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { commandPictures, fileOf } from "../../scripts/pictures/command-pictures.ts";

test("docs/*.svg show what the commands print today; run scripts/pictures/main.ts to write them again", async () => {
  for (const picture of await commandPictures()) {
    assert.equal(readFileSync(fileOf(picture), "utf8"), picture.svg, picture.file);
  }
});

test("no line of a picture is cut at its edge", async () => {
  for (const { file, svg } of await commandPictures()) {
    const width = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
    const ends = Array.from(svg.matchAll(/ x="([\d.]+)" .*? textLength="([\d.]+)"/g), ([, x, length]) => {
      return Number(x) + Number(length);
    });
    assert.ok(ends.length > 20 && Math.max(...ends) < width, file);
  }
});
