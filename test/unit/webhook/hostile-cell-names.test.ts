/**
 * Cells are named by whoever writes the status of a PodProtector, and by URLs: their names are shown to people, who may
 * sit at a terminal.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { cell, deleteReview, pod, protector } from "./support/objects.ts";
import { world } from "./support/replica.ts";

/** A control sequence of one character, the reversal of what follows, and a length that fills a screen. */
const hostile = `\u{9b}31m\u{202e}${"x".repeat(100_000)}`;

it("a refusal shows names of cells without control characters, and not more of them than fits into a message", async () => {
  const cells = Array.from({ length: 9 }, (_, index) => cell(`${index}${hostile}`, 3));
  const { replica } = world([protector({ minAvailable: 5_000, cells })]);
  for (const cellID of [`0${hostile}`, "9".repeat(10_000)]) {
    const answer = await replica.review(deleteReview(pod("p")), { cellID: encodeURIComponent(cellID) });
    assert.equal(answer.allowed, false);
    const text = JSON.stringify(answer.body);
    assert.ok(text.length < 10_000, `${text.length} characters`);
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  }
});
