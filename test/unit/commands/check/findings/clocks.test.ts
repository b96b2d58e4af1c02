import assert from "node:assert/strict";
import { test } from "node:test";
import { clockFindings } from "../../../../../src/commands/check/findings/clocks.ts";
import { before, cell, core, now, read, unread, worker } from "../sound-facts.ts";

const clock = (aheadSeconds: number) => read({ server: before(-aheadSeconds), own: now });
const texts = (facts: Parameters<typeof clockFindings>[0]): readonly string[] =>
  clockFindings(facts).map(({ level, text }) => `${level} ${text}`);

test("clocks that differ by less than requests take agree", () => {
  const facts = { cores: [core({ clock: clock(3) })], workers: [worker("worker-1", { clock: clock(-3) })] };
  assert.deepEqual(texts(facts), ["ok clocks of this machine, core, worker-1 agree"]);
});

test("where all API servers agree, it is this machine's clock that is off", () => {
  const facts = { cores: [core({ clock: clock(120) })], workers: [worker("worker-1", { clock: clock(121) })] };
  assert.deepEqual(texts(facts), ["warn the clock of this machine is 2 m 00 s behind that of the API servers"]);
});

test("an API server that alone is off is named", () => {
  const facts = { cores: [core({ clock: clock(0) })], workers: [worker("worker-1", { clock: clock(90) })] };
  assert.deepEqual(texts(facts), [
    "warn the clock of the API server of worker-1 is 1 m 30 s ahead of that of this machine",
  ]);
});

test("an aggregator's clock is compared with the API server's time of the same write", () => {
  const behind = cell("a", { renewedSecondsAgo: 302, writtenSecondsAgo: 2 });
  const heartbeats = read({ cells: [behind, cell("b")], observer: undefined });
  assert.deepEqual(texts({ cores: [core({ heartbeats })], workers: [] }), [
    'warn the clock of the aggregator of cell "a" is 5 m 00 s behind that of the API server of core',
  ]);
});

test("where the API server does not tell when it wrote, only a clock that is ahead is seen", () => {
  const ahead = cell("a", { renewedSecondsAgo: -60, writtenSecondsAgo: undefined });
  const old = cell("b", { renewedSecondsAgo: 3_600, writtenSecondsAgo: undefined });
  const heartbeats = read({ cells: [ahead, old], observer: undefined });
  assert.deepEqual(texts({ cores: [core({ heartbeats })], workers: [] }), [
    'warn the clock of the aggregator of cell "a" is 1 m 00 s ahead of that of the API server of core',
  ]);
});

test("a clock that cannot be read is not checked", () => {
  assert.match(texts({ cores: [core({ clock: unread })], workers: [] })[0] ?? "", /^unchecked the clock of core/);
});
