/** What the generator's ConfigMap says: which causes hold changes, what was approved, what was let go by hand. */
import { annotations } from "../../api/v1alpha1/names.ts";
import { decodeLatches, latchesKey } from "../../generator/mass-changes/latches.ts";
import { byHandKeyOf, type GeneratorState, readGeneratorState } from "../../kube/generator-state.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type EpochMicros } from "../../util/clock.ts";

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
