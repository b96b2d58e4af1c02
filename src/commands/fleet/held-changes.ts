/**
 * What the generator's ConfigMap says: which causes hold changes, what was approved, what was let go by hand.
 *
 * Workloads that somebody has deleted while no generator leads: they hang, and nobody else would say why.
 */
import { type CellGlance } from "../../accounting/silence/glance.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type ObjectMeta } from "../../api/v1alpha1/pod-protector.ts";
import { decodeLatches, latchesKey } from "../../generator/mass-changes/latches.ts";
import { byHandKeyOf, type GeneratorState, readGeneratorState } from "../../kube/generator-state.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type GuardedKind, guardedKinds, listWaiting, type WaitingWorkload } from "../../sources/waiting-deletions.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type Access } from "../clusters/reading.ts";
import { ageText } from "../text/format.ts";

export interface HeldCause {
  readonly cause: string;
  readonly since: EpochMicros;
}

export interface GivenUp {
  readonly uid: string;
  /** What the person wrote there. */
  readonly note: string;
}

export interface HeldChanges {
  readonly state: GeneratorState;
  readonly held: readonly HeldCause[];
  /** Approvals that were carried out and still hold. */
  readonly approved: readonly { readonly cause: string; readonly at: EpochMicros; readonly until: EpochMicros }[];
  /** The annotation by which a person approves, as it stands there. */
  readonly approval: string | undefined;
  /** Vanished PodProtectors that a person has let go. */
  readonly letGo: readonly GivenUp[];
}

/** A ConfigMap that does not exist holds nothing. Throws KubeError. */
export async function readHeldChanges(
  client: KubeClient,
  namespace: string,
  now: () => EpochMicros,
  signal: AbortSignal,
): Promise<HeldChanges> {
  const state = await readGeneratorState(client, namespace, { signal });
  const { latched, approvals } = decodeLatches(state.data[latchesKey]);
  const at = now();
  const prefix = byHandKeyOf("");
  return {
    state,
    held: Array.from(latched, ([cause, since]) => ({ cause, since })),
    approved: approvals.filter(({ until }) => until > at),
    approval: state.annotations[annotations.approve],
    letGo: Object.entries(state.data).flatMap(([key, note]) =>
      key.startsWith(prefix) ? [{ uid: key.slice(prefix.length), note }] : [],
    ),
  };
}

/** A standby takes over within 15 s, and a generator beats every 10 s. */
const awayMs = 60_000;

/** Whether none leads, as far as it could be heard: for `unwrittenForMs` milliseconds nobody could. */
export function isGeneratorAway({ heardAgoMs }: Pick<CellGlance, "heardAgoMs">, unwrittenForMs = 0): boolean {
  return heardAgoMs === undefined || heardAgoMs - unwrittenForMs > awayMs;
}

/**
 * Those of all kinds that have PodProtectors. `asked` carries a read out, and gives undefined where it failed. Rejects
 * only for programmer errors.
 */
export async function findWaiting(
  client: KubeClient,
  protectors: Iterable<ObjectMeta>,
  namespace: string | undefined,
  asked: <T>(access: Omit<Access, "cluster">, read: (signal: AbortSignal) => Promise<T>) => Promise<T | undefined>,
): Promise<readonly WaitingWorkload[]> {
  const list = (kind: GuardedKind) =>
    asked({ verb: "list", resource: kind.resource, namespace }, (signal) =>
      listWaiting(client, kind, namespace, signal),
    );
  const found = await Promise.all(guardedKinds(protectors).map(list));
  return found.flatMap((workloads) => workloads ?? []);
}

/** `Deployment shop/web has been deleted for 4 m 02 s`. */
export function waitingText({ kind, namespace, name, deletedAt }: WaitingWorkload, now: EpochMicros): string {
  const since = deletedAt === undefined ? "" : ` for ${ageText((now - deletedAt) / 1000)}`;
  return `${kind} ${namespace}/${name} is being deleted${since}, and stays until a generator leads`;
}
