/**
 * Waits until no generator is at work: it would put its finalizer back on what was released. Clocks are not compared:
 * a Lease that nobody renews for longer than it lasts is free.
 */
import { asKubeError } from "../../kube/kube-client.ts";
import { readLease } from "../check/readers/leases.ts";
import { later, sleep } from "../../util/clock.ts";
import { reading } from "../clusters/reading.ts";
import { leases } from "../../kube/resources.ts";
import { findGeneratorPods } from "./inventory.ts";
import { type Obstacle, type Site } from "./target.ts";

/** As in the manifests. */
const election = "podseidon-generator";
/** A generator's Lease lasts 15 s by default; a leader that cannot renew it stops before. */
const quietMs = 20_000;
/** Pods have 30 s to end, and a node may be slow; then nobody has ended them. */
const waitMs = 150_000;
const pollMs = 1_000;

/** Undefined = none leads, and no pod of one is left. */
export async function waitGeneratorGone(site: Site, tell: (line: string) => void): Promise<Obstacle | undefined> {
  const { clock, signal } = site;
  const end = later(clock.monotonicMs(), waitMs);
  let seen: string | undefined;
  let quietSince = clock.monotonicMs();
  for (let isTold = false; ; isTold = true) {
    const [pods, lease] = [await findGeneratorPods(site), await readHolder(site)];
    const failed = pods.obstacles[0] ?? (lease.ok ? undefined : lease.obstacle);
    if (failed?.isFinal === true) return failed;
    const renewal = lease.ok ? lease.renewal : seen;
    if (renewal !== seen) quietSince = clock.monotonicMs();
    seen = renewal;
    const isQuiet = seen === undefined || clock.monotonicMs() >= later(quietSince, quietMs);
    const holder = lease.ok ? (lease.holder ?? "") : "";
    if (failed === undefined && pods.targets.length === 0 && isQuiet) return undefined;
    if (clock.monotonicMs() >= end || signal.aborted) return failed ?? stillThere(pods.targets.length, holder, site);
    if (!isTold) tell("waiting until no generator leads");
    await sleep(clock, pollMs, signal);
  }
}

type ReadHolder =
  /** Undefined = nobody holds it. `renewal` changes whenever it is renewed. */
  | { readonly ok: true; readonly holder: string | undefined; readonly renewal: string | undefined }
  | { readonly ok: false; readonly obstacle: Obstacle };

async function readHolder({ client, cluster, namespace, signal }: Site): Promise<ReadHolder> {
  const access = { cluster, verb: "get", resource: leases, namespace, name: election, role: "cluster-admin" } as const;
  const read = await reading(access, () => readLease(client, namespace, election, signal));
  if (!read.ok) {
    const isFinal = ["forbidden", "unauthorized", "aborted"].includes(asKubeError(read.error).kind);
    return { ok: false, obstacle: { isFinal, problem: read.problem } };
  }
  const { holder, renewedAt } = read.value ?? { holder: "", renewedAt: undefined };
  if (holder === "") return { ok: true, holder: undefined, renewal: undefined };
  return { ok: true, holder, renewal: `${holder} ${renewedAt ?? ""}` };
}

function stillThere(pods: number, holder: string, { namespace }: Site): Obstacle {
  const problem =
    pods > 0
      ? `${pods} pods of the generator are still there in ${namespace}`
      : `the generator ${holder} still leads, though its Deployment is gone: it runs elsewhere. Stop it there first`;
  return { isFinal: true, problem };
}
