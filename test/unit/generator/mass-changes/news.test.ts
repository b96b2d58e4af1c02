import assert from "node:assert/strict";
import { test } from "node:test";
import { News } from "../../../../src/generator/mass-changes/news.ts";
import { after, noon } from "./samples.ts";

test("a change lies between the news before it and now, wherever its own time lies", () => {
  const news = new News();
  news.arrived(noon);
  news.arrived(after(3_600));
  news.arrived(after(3_600.5));
  const now = after(3_601);
  assert.equal(news.timeOf(after(-604_800), now), noon, "the time of a backup");
  assert.equal(news.timeOf(after(1_800), now), after(1_800), "deleted while the watch was down");
  assert.equal(news.timeOf(after(9_999), now), now, "another clock");
  assert.equal(news.timeOf(undefined, now), now);
});

test("as long as nothing was seen before, a change is of now", () => {
  const news = new News();
  assert.equal(news.timeOf(after(-60), noon), noon);
  news.arrived(noon);
  assert.equal(news.timeOf(after(-60), noon), noon);
});
