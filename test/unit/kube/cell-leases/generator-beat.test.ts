import assert from "node:assert/strict";
import { test } from "node:test";
import { Contact } from "../../../../src/accounting/silence/contact.ts";
import { GeneratorBeat } from "../../../../src/kube/cell-leases/generator-beat.ts";
import { at } from "../../../support/moment.ts";

/** LISTs at these seconds, each answered at once; what is known after the last. */
function after(...lists: readonly (readonly [second: number, beat: string | undefined])[]): number | undefined {
  const contact = new Contact({ contactMs: 45_000 }, at(0));
  const generator = new GeneratorBeat(contact);
  for (const [second, beat] of lists) {
    const listedAt = at(second * 1_000);
    contact.listed({ sentAt: listedAt, answeredAt: listedAt, leases: [] });
    contact.wrote();
    generator.listed(beat, listedAt);
  }
  return generator.unheardMs();
}

test("a generator that has never beaten is not missed", () => {
  assert.equal(after([0, undefined], [15, undefined], [30, undefined]), undefined);
});

test("a beat that stays the same is silence since the LIST that showed it first", () => {
  assert.equal(after([0, "a"], [15, "b"], [30, "b"], [45, "b"]), 30_000);
  assert.equal(after([0, "a"], [15, "b"]), 0);
});

test("a Lease that is deleted is one that is not renewed", () => {
  assert.equal(after([0, "a"], [15, undefined], [30, undefined]), 30_000);
});

test("what happened in a hole between two LISTs is not known, so silence starts at zero", () => {
  assert.equal(after([0, "a"], [15, "a"], [75, "a"], [90, "a"]), 15_000);
  assert.equal(after([0, "a"], [75, undefined], [90, undefined]), 15_000);
});
