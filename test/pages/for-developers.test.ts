/** The refusals in docs/for-developers.md, against those that the webhook gives. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type QuotaFigures } from "../../src/accounting/reserve/quota-figures.ts";
import { type RequestStatus } from "../../src/webhook/decide/decision.ts";
import { PodCells, withoutCell } from "../../src/webhook/decide/subject/pod-cell.ts";
import { coreUnavailable, notInTime, queueFull, vanished } from "../../src/webhook/decide/refusals/record-refusal.ts";
import { refusalOf, type RefusingVerdict } from "../../src/webhook/decide/refusals/refusal.ts";
import { InFlightLimit, reviewsInFlightMax } from "../../src/webhook/http/in-flight-limit.ts";
import { type EpochMicros, type MonotonicMs } from "../../src/util/clock.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { FakeCore } from "../unit/webhook/support/fake-core.ts";
import { cell, deleteReview, pod, protector } from "../unit/webhook/support/objects.ts";
import { createReplica, world } from "../unit/webhook/support/replica.ts";

const page = readFileSync(path.join(import.meta.dirname, "../../docs/for-developers.md"), "utf8");

const figures: QuotaFigures = {
  criterion: "Available",
  required: 9,
  aggregated: 9,
  total: 12,
  unconfirmed: 0,
  outstanding: 0,
  cells: [
    { cellID: "osaka", counts: "in-force", aggregated: 4, last: 4, unconfirmed: 0 },
    { cellID: "tokyo", counts: "in-force", aggregated: 5, last: 5, unconfirmed: 0 },
  ],
};
const id = "core/shop/deployment-checkout";
const owner = {
  name: "Deployment shop/checkout",
  fields: "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable",
  undone: "edits of the PodProtector",
  hasVanished: false,
  isUndrainable: false,
};
const refusing = (verdict: RefusingVerdict) => refusalOf([{ id, verdict, owner }], "tokyo");
const messageOf = (verdict: RefusingVerdict): string => refusing(verdict).message;

const tombstone = {
  uid: "uid",
  maker: "generator",
  sinceMs: 0 as MonotonicMs,
  since: 0 as EpochMicros,
  stateNamespace: "podseidon-system",
} as const;

function messageWithoutCell(): string {
  const judged = refusing({ kind: "counts-pending", awaited: ["-"], figures });
  const none = new PodCells("example.com/cell", new Set(["blue"])).of({}, "by-label");
  assert(!none.ok);
  return withoutCell({ pod: { namespace: "shop", name: "p" } } as Parameters<typeof withoutCell>[0], none, judged)
    .message;
}

function messageOfFullReplica(): string {
  const limit = new InFlightLimit(false);
  for (let count = 0; count < reviewsInFlightMax; count += 1) limit.enter(false);
  return limit.enter(false)?.message ?? "";
}

async function messageOfCrowd(): Promise<string> {
  const crowd = Array.from({ length: 51 }, (_, index) => protector({ name: `p-${index}`, cells: [cell("c1", 100)] }));
  return (await world(crowd).replica.review(deleteReview(pod("p")))).message;
}

async function messageBeforeSync(): Promise<string> {
  const clock = createVirtualClock();
  const replica = createReplica(clock, new FakeCore(clock), { unsynced: true });
  return (await replica.review(deleteReview(pod("p")))).message;
}

/** Of a pod that the caller does not mean, or of something that is no deletion: no matter of a PodProtector. */
type OtherStatus = "NotFound" | "Conflict" | "NotRelevant";
type AllowingStatus =
  | "Unmatched"
  | "AlreadyTerminating"
  | "AlreadyUnready"
  | "AdmittedAll"
  | "NotADeletion"
  | "Forced"
  | "OrphanLetGo";

/** The messages of every refusal that there is. A new status does not compile before it stands here. */
async function allMessages(): Promise<readonly string[]> {
  const messages: Readonly<Record<Exclude<RequestStatus, OtherStatus | AllowingStatus>, readonly string[]>> = {
    Rejected: [messageOf({ kind: "rejected", figures })],
    RetryAdvised: (["unconfirmed", "lag-limit", "full-buffer", "full-status"] as const).map((cause) =>
      messageOf({ kind: "retry", cause, figures }),
    ),
    CountsPending: [messageOf({ kind: "counts-pending", awaited: ["tokyo"], figures })],
    CellSilent: [
      messageOf({ kind: "cell-silent", silentForMs: 240_000, figures }),
      messageOf({ kind: "cell-silent", silentForMs: 0, isRetiring: true, figures }),
    ],
    ProtectorUnusable: [messageOf({ kind: "unusable", reason: "spec: wrong" })],
    ProtectorLost: [messageOf({ kind: "tombstone", tombstone, goneForMs: 1_000 })],
    ProtectorVanished: [vanished(id).message],
    CoreUnavailable: [coreUnavailable(id, "timeout").message],
    DeadlineExceeded: [notInTime(id, undefined).message, notInTime(id, "timeout").message],
    Overloaded: [queueFull(id).message, messageOfFullReplica()],
    NotSynced: [await messageBeforeSync()],
    UnknownCell: [messageWithoutCell()],
    TooManyProtectors: [await messageOfCrowd()],
  };
  return Object.values(messages).flat();
}

/** The words by which a person finds a refusal in the table, with an ellipsis for what differs. */
function wordsOfTable(): readonly string[] {
  const [, table = ""] = /^\| words \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .split("\n")
    .flatMap((row) => Array.from((row.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g), ([, words = ""]) => words));
}

const isIn = (words: string, message: string): boolean =>
  new RegExp(
    words
      .split("…")
      .map((part) => RegExp.escape(part))
      .join(".+"),
  ).test(message);

test("every refusal of a PodProtector is found in docs/for-developers.md by exactly one of its words", async () => {
  const words = wordsOfTable();
  for (const message of await allMessages())
    assert.equal(words.filter((some) => isIn(some, message)).length, 1, message);
});

test("every refusal that docs/for-developers.md tells of is one that the webhook gives", async () => {
  const messages = await allMessages();
  for (const words of wordsOfTable())
    assert(
      messages.some((message) => isIn(words, message)),
      words,
    );
});

test("docs/for-developers.md shows a refusal as it is", () => {
  const [, shown = ""] = /denied the request:\n(PodProtector [^`]*?) \[\.\.\.\]/.exec(page) ?? [];
  assert(shown.length > 300, shown);
  assert.equal(messageOf({ kind: "rejected", figures }).slice(0, shown.length), shown.replaceAll("\n", " "));
});
