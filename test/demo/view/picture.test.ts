import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { demoPicture, pictureFile } from "../../../scripts/demo/view/picture.ts";

test("docs/demo.svg shows what the live view draws today; run scripts/demo/view/picture.ts to write it again", () => {
  assert.equal(readFileSync(pictureFile, "utf8"), demoPicture());
});
