/** A PodProtector with promised deletions in the way, and what takes them out of it. */
import { type FakeCore } from "./fake-core.ts";
import { cell, deleteReview, type Json, pod, protector } from "./objects.ts";
import { type Answer, type Replica, settle, world } from "./replica.ts";

const replicaSetController = "system:serviceaccount:kube-system:replicaset-controller";

/** A pod of the ReplicaSet with this UID. */
function owned(name: string, owner: string): Json {
  const raw = pod(name);
  const ownerReferences = [
    { kind: "Other", uid: "other" },
    { kind: "ReplicaSet", uid: owner, controller: true },
  ];
  return { ...raw, metadata: { ...(raw["metadata"] as Json), ownerReferences } };
}

/** The review of the deletion of a pod of `owner`. */
export function ownedReview(name: string, owner = "rs-1", username = replicaSetController): Json {
  return deleteReview(owned(name, owner), { userInfo: { username } });
}

/** 80 must stay, 81 are there, and the deletion of one is promised. */
export async function fullWorld(options: Parameters<typeof world>[1] = {}, more: readonly Json[] = []) {
  const made = world([protector({ cells: [cell("c1", 81)] }), ...more], options);
  await made.replica.review(deleteReview(pod("first")));
  return made;
}

/** What is promised has settled, and `count` pods are there. */
export function settled(core: FakeCore, count: number, name = "web"): void {
  core.update(`ns/${name}`, (status) => {
    status.cells = [cell("c1", count)];
  });
}

/** Sends a review now, and notes when it is answered. */
export function sent(replica: Replica, body: unknown, options: Parameters<Replica["send"]>[1] = {}) {
  const answer = replica.send(body, options);
  const state: { done?: Answer } = {};
  void answer.then((done) => (state.done = done));
  return { answer, state };
}

/** How many milliseconds the answer takes. */
export async function timeOf(
  made: { clock: Parameters<typeof settle>[0]; replica: Replica },
  body: unknown,
  options: Parameters<Replica["send"]>[1] = {},
) {
  const { allowed, elapsedMs } = await settle(made.clock, made.replica.send(body, options));
  return { allowed, elapsedMs };
}

/** Reviews that were held, by cause and result. */
export function heldOf({ metrics }: Replica, cause: string, result: string): number {
  return metrics.count(`webhook_held_review{cause="${cause}",result="${result}"}`);
}
