/** Whoever says how long the tests take says what was measured last. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { figures } from "./figures.ts";

const root = path.join(import.meta.dirname, "..", "..");

/** Rounded up: tens of seconds, or minutes. */
const inWords = (seconds: number): string =>
  seconds <= 120 ? `${Math.ceil(seconds / 10) * 10} seconds` : `${Math.ceil(seconds / 60)} minutes`;

const sayings: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  test: {
    "README.md": /^make test .*: ([^)\n]+) on two cores$/m,
    Makefile: /^test: .*\((.+?) on two cores\)/m,
    "test/README.md": /^\| `make test` \| ([^|]+) \|/m,
    "docs/contributing.md": /`make test` \((.+?) on two cores\)/,
    "docs/architecture.md": /`make test` finds mistakes, in (\d+ \w+):/,
  },
  proofs: {
    Makefile: /^proofs: .*\((.+?) on two cores\)/m,
    "test/README.md": /^\| `make proofs` \| ([^|]+) \|/m,
    "docs/contributing.md": /`make proofs` \((.+?)\)/,
    "docs/architecture.md": /`make proofs` proves and explores, in (\d+ \w+):/,
  },
};

for (const [ring, places] of Object.entries(sayings)) {
  for (const [file, pattern] of Object.entries(places)) {
    test(`${file} says how long make ${ring} takes`, () => {
      const [, said] = pattern.exec(readFileSync(path.join(root, file), "utf8")) ?? [];
      assert.equal(said, inWords(figures[ring]?.seconds ?? 0));
    });
  }

  test(`.ci/run ends make ${ring} after ten times what it needs`, () => {
    const script = readFileSync(path.join(root, ".ci/run"), "utf8");
    const [, limit] = new RegExp(`^stage ${ring} (\\d+) `, "m").exec(script) ?? [];
    const needed = 10 * (figures[ring]?.seconds ?? 0);
    assert.ok(Number(limit) >= needed && Number(limit) < 2 * needed, `${limit} s, not ${needed}`);
  });
}
