import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { type EventRecorder } from "../../../../../src/kube/event-recorder.ts";
import { type Json, cell, deleteReview, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";

/** 80 must stay, 80 are there, and it is in shadow. */
function atFloor(name: string): Json {
  const object = protector({ name, cells: [cell("c1", 80)] });
  return { ...object, metadata: { ...(object["metadata"] as Json), annotations: { [annotations.mode]: "shadow" } } };
}

const by = (username: string): Json => ({ userInfo: { username } });

test("each PodProtector has an Event for each operation and caller", async () => {
  const recorded: Parameters<EventRecorder["record"]>[] = [];
  const recorder: EventRecorder = { record: (...event) => void recorded.push(event), close() {} };
  const { replica } = world([atFloor("a"), atFloor("b")], { events: new Map([["core", recorder]]) });
  await replica.review(deleteReview(pod("p"), by("alice")));
  await replica.review(deleteReview(pod("q"), by("bob")));
  assert.deepEqual(
    recorded.map(([{ name }, type, reason, , series]) => [name, type, reason, series]),
    [
      ["a", "Warning", "WouldRefuse", 'delete "alice"'],
      ["b", "Warning", "WouldRefuse", 'delete "alice"'],
      ["a", "Warning", "WouldRefuse", 'delete "bob"'],
      ["b", "Warning", "WouldRefuse", 'delete "bob"'],
    ],
  );
  const message = recorded[0]?.[3] ?? "";
  assert.match(message, /^Deletions by "alice" would be refused; last: Deletion of pod p in cell "c1": TooFew/);
  assert.match(message, /Must stay 80/);
});
