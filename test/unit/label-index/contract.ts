/** What every index promises. Run for the naive scan too, so that the promises are known to be the obvious ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Labels } from "../../../src/api/pod.ts";
import { type LabelSelector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type LabelIndex } from "../../../src/label-index/label-index.ts";
import { type SelectorIndex } from "../../../src/label-index/selector-index.ts";
import { isIn, selectorCases } from "./selector-cases.ts";

export function describeSelectorIndex(implementation: string, create: () => SelectorIndex): void {
  describe(`${implementation}: which selectors match a label set`, () => {
    for (const { sentence, selector, matches, rejects } of selectorCases) {
      it(sentence, () => {
        const index = create();
        index.track("decoy", { matchLabels: { decoy: "1" } });
        assert.deepEqual(index.track("it", selector), { ok: true });
        for (const labels of matches) assert.deepEqual(index.query(labels), ["it"], JSON.stringify(labels));
        for (const labels of rejects) assert.deepEqual(index.query(labels), [], JSON.stringify(labels));
        assert.equal(index.untrack("it"), true);
        for (const labels of matches) assert.deepEqual(index.query(labels), [], "after untrack");
      });
    }

    it("finds all that match and each only once", () => {
      const index = create();
      for (const { selector } of selectorCases) index.track(JSON.stringify(selector), selector);
      for (const labels of selectorCases.flatMap((entry) => entry.matches)) {
        const found = index.query(labels);
        assert.equal(new Set(found).size, found.length);
      }
    });

    it("finds no more than it is asked for", () => {
      const index = create();
      for (const name of ["a", "b", "c"]) index.track(name, { matchLabels: { app: "web" } });
      for (const name of ["d", "e"]) index.track(name, {});
      for (const max of [1, 2, 3, 4, 5]) assert.equal(new Set(index.query({ app: "web" }, max)).size, max);
      assert.equal(index.query({ app: "web" }, 6).length, 5);
    });

    for (const [what, selector] of [
      ["an unknown operator", { matchExpressions: [{ key: "app", operator: "Near", values: ["x"] }] }],
      ["In without values", { matchExpressions: [{ key: "app", operator: "In", values: [] }] }],
      ["In with values missing", { matchExpressions: [{ key: "app", operator: "In" }] }],
      ["NotIn without values", { matchExpressions: [{ key: "app", operator: "NotIn", values: [] }] }],
      ["Exists with values", { matchExpressions: [{ key: "app", operator: "Exists", values: ["x"] }] }],
      ["DoesNotExist with values", { matchExpressions: [{ key: "app", operator: "DoesNotExist", values: ["x"] }] }],
    ] as const) {
      it(`refuses ${what} and keeps the earlier selector of the name in force`, () => {
        const index = create();
        index.track("it", { matchLabels: { app: "web" } });
        assert.equal(index.track("it", selector as unknown as LabelSelector).ok, false);
        assert.deepEqual(index.query({ app: "web" }), ["it"]);
        assert.equal(index.track("new", selector as unknown as LabelSelector).ok, false);
        assert.equal(index.size, 1);
      });
    }

    it("replaces the selector of a name that is tracked again", () => {
      const index = create();
      index.track("it", { matchLabels: { app: "web" } });
      index.track("it", { matchExpressions: [isIn("app", "api", "db")] });
      assert.deepEqual(index.query({ app: "web" }), []);
      assert.deepEqual(index.query({ app: "api" }), ["it"]);
      assert.equal(index.size, 1);
    });

    it("keeps a name whose selector matches nothing", () => {
      const index = create();
      index.track("it", { matchExpressions: [isIn("app", "web"), isIn("app", "api")] });
      assert.equal(index.size, 1);
      assert.equal(index.untrack("it"), true);
      assert.equal(index.size, 0);
    });

    it("says false when it untracks an unknown name", () => {
      const index = create();
      assert.equal(index.untrack("it"), false);
      index.track("it", {});
      assert.equal(index.untrack("it"), true);
      assert.equal(index.untrack("it"), false);
    });

    it("leaves other names alone when one of several equal selectors is untracked", () => {
      const index = create();
      for (const name of ["a", "b", "c"]) index.track(name, { matchLabels: { app: "web" } });
      index.untrack("b");
      assert.deepEqual(index.query({ app: "web" }).toSorted(), ["a", "c"]);
    });
  });
}

export function describeLabelSetIndex(
  implementation: string,
  create: () => LabelIndex<Labels, LabelSelector, void>,
): void {
  describe(`${implementation}: which label sets match a selector`, () => {
    for (const { sentence, selector, matches, rejects } of selectorCases) {
      it(sentence, () => {
        const index = create();
        const names = matches.map((_, position) => `match-${position}`);
        for (const [position, labels] of matches.entries()) index.track(`match-${position}`, labels);
        for (const [position, labels] of rejects.entries()) index.track(`reject-${position}`, labels);
        assert.deepEqual(index.query(selector).toSorted(), names);
        for (const name of names) assert.equal(index.untrack(name), true);
        assert.deepEqual(index.query(selector), []);
        assert.equal(index.size, rejects.length);
      });
    }

    it("finds every name that shares a label set", () => {
      const index = create();
      index.track("a", { app: "web", zone: "x" });
      index.track("b", { zone: "x", app: "web" });
      index.track("c", { app: "web", zone: "y" });
      assert.deepEqual(index.query({ matchLabels: { zone: "x" } }).toSorted(), ["a", "b"]);
      index.untrack("a");
      assert.deepEqual(index.query({ matchLabels: { zone: "x" } }), ["b"]);
      index.untrack("b");
      assert.deepEqual(index.query({ matchLabels: { zone: "x" } }), []);
    });

    it("finds no more than it is asked for", () => {
      const index = create();
      for (const name of ["a", "b"]) index.track(name, { app: "web" });
      for (const name of ["c", "d"]) index.track(name, { app: "web", zone: name });
      for (const max of [1, 2, 3, 4])
        assert.equal(new Set(index.query({ matchLabels: { app: "web" } }, max)).size, max);
      assert.equal(index.query({ matchLabels: { app: "web" } }, 5).length, 4);
    });

    it("replaces the labels of a name that is tracked again", () => {
      const index = create();
      index.track("a", { app: "web" });
      index.track("a", { app: "api" });
      assert.deepEqual(index.query({ matchLabels: { app: "web" } }), []);
      assert.deepEqual(index.query({ matchLabels: { app: "api" } }), ["a"]);
      assert.equal(index.size, 1);
    });

    it("changes nothing when a name is tracked again with the same labels", () => {
      const index = create();
      index.track("a", { app: "web" });
      index.track("a", { app: "web" });
      assert.deepEqual(index.query({}), ["a"]);
      assert.equal(index.size, 1);
    });

    it("says false when it untracks an unknown name", () => {
      const index = create();
      assert.equal(index.untrack("a"), false);
    });
  });
}
