/** One Lease, two kinds of candidates: our generator and a program of Kubernetes, whose elector is client-go's. */
import assert from "node:assert/strict";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ManagedProcess } from "../../../../scripts/child-processes.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { schedulerArgs } from "../../clusters/control-plane.ts";
import { applyCrd } from "../../objects/crd.ts";
import { crdFile, Fleet } from "../../fleet/fleet.ts";
import { createNamespace } from "../../objects/pods.ts";
import { type PodseidonProcess, startPodseidon } from "../../fleet/process.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { createPausedDeployment } from "../../fleet/signs-of-work.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const leaseSeconds = 8;
const renewDeadlineSeconds = 6;
const retrySeconds = 2;
/** Both kinds wait 1 to 2.2 retry periods between two looks at a Lease. */
const lookMsMax = 2.2 * retrySeconds * second;
/**
 * A Lease runs out from when a candidate saw it change last, and the next look takes it; the rest is for a busy
 * machine.
 */
const takeoverLimitMs = leaseSeconds * second + 2 * lookMsMax + 5 * second;
/** Long enough for a candidate that mistakes a renewed Lease for one that has run out. */
const standbyMs = leaseSeconds * second + lookMsMax;
const startLimitMs = 30 * second;

export const leaseCases = e2eCases({
  "lease: a generator and a candidate of client-go take one Lease in turns, after kill -9 and after a release": [
    180 * second,
    takeTurns,
  ],
});

async function takeTurns(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  await applyCrd(core.admin, crdFile);
  await createNamespace(core.admin, context.namespace);
  const contest = new Contest(context, core);

  // client-go holds it: ours stands by.
  const first = contest.startClientGo("first");
  const taken = await contest.waitHeld("client-go", 0);
  await contest.label();
  const generator = await contest.startGenerator("generator-1");
  await createPausedDeployment(contest.fleet, "web");
  await delay(standbyMs);
  const renewed = await contest.lease();
  assert.ok(renewed.renewedAtMs > taken.renewedAtMs, "client-go renews");
  assert.deepEqual(heldBy(renewed), heldBy(taken));
  assert.equal((await generator.metrics()).value("leader_heartbeat"), 0);
  assert.equal((await generator.readyz()).code, 200, "a standby is ready");
  await assert.rejects(contest.protector(), /404/, "a standby protects nothing");

  const killed = await contest.killed(first);
  const ours = await contest.waitHeld("podseidon", taken.transitions + 1);
  assertRanOut(killed, ours);
  await waitFor("the new leader protects the Deployment", 10 * second, () => contest.protector());

  // Ours holds it: client-go stands by, and finds out that ours is dead.
  const next = contest.startClientGo("second");
  await contest.waitStanding(next);
  await delay(standbyMs);
  assert.deepEqual(heldBy(await contest.lease()), heldBy(ours));
  const silent = await contest.killed(generator.process);
  assert.ok(silent.renewedAtMs > ours.renewedAtMs, "ours renews");
  const back = await contest.waitHeld("client-go", ours.transitions + 1);
  assertRanOut(silent, back);

  // Ours gives it away.
  const last = await contest.startGenerator("generator-2");
  await contest.killed(next);
  const again = await contest.waitHeld("podseidon", back.transitions + 1);
  const third = contest.startClientGo("third");
  await contest.waitStanding(third);
  assert.equal((await last.terminate()).code, 0);
  const releasedAtMs = Date.now();
  const gotten = await contest.waitHeld("client-go", again.transitions + 1);
  const releaseMs = gotten.acquiredAtMs - releasedAtMs;
  assert.ok(releaseMs < lookMsMax + second, `taken ${releaseMs} ms after it was given away`);
  assert.equal(gotten.label, "both", "each keeps what others put there");
  return {
    toOursMs: Math.round(ours.acquiredAtMs - killed.renewedAtMs),
    toClientGoMs: Math.round(back.acquiredAtMs - silent.renewedAtMs),
    releaseMs,
    transitions: gotten.transitions,
  };
}

/** What both kinds read and write, times in milliseconds of the one clock that all have here. */
interface Lease {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredAtMs: number;
  readonly renewedAtMs: number;
  readonly transitions: number;
  readonly label: string | undefined;
}

/** What stays while the holder does. */
function heldBy({ holder, durationSeconds, acquiredAtMs, transitions }: Lease): Omit<Lease, "renewedAtMs" | "label"> {
  return { holder, durationSeconds, acquiredAtMs, transitions };
}

function assertRanOut(before: Lease, after: Lease): void {
  const silentMs = after.acquiredAtMs - before.renewedAtMs;
  assert.ok(silentMs >= leaseSeconds * second, `taken ${silentMs} ms after its last renewal`);
}

class Contest {
  readonly fleet: Fleet;
  readonly #context: CaseContext;
  readonly #core: Cluster;
  readonly #name: string;

  constructor(context: CaseContext, core: Cluster) {
    this.fleet = new Fleet([core], [], context.namespace);
    this.#context = context;
    this.#core = core;
    this.#name = `contest-${context.namespace}`;
  }

  /** A scheduler without pods to schedule: it waits for the Lease before it does anything. */
  startClientGo(name: string): ManagedProcess {
    const { assets, directory, processes } = this.#context;
    return processes.start({
      name: `client-go-${name}`,
      command: assets["kube-scheduler"],
      args: [
        ...schedulerArgs(this.#core.kubeconfigPath("admin")),
        "--leader-elect=true",
        "--leader-elect-resource-namespace=default",
        `--leader-elect-resource-name=${this.#name}`,
        `--leader-elect-lease-duration=${leaseSeconds}s`,
        `--leader-elect-renew-deadline=${renewDeadlineSeconds}s`,
        `--leader-elect-retry-period=${retrySeconds}s`,
      ],
      logFile: path.join(directory, `client-go-${name}.log`),
    });
  }

  startGenerator(name: string): Promise<PodseidonProcess> {
    const { directory, processes } = this.#context;
    return startPodseidon({
      processes,
      directory,
      name,
      role: "generator",
      args: [
        `--core-kube-config=${this.#core.kubeconfigPath("admin")}`,
        "--generator-leader-elector-namespace=default",
        `--generator-leader-elector-name=${this.#name}`,
        `--generator-leader-elector-lease-duration=${leaseSeconds}s`,
        `--generator-leader-elector-renew-deadline=${renewDeadlineSeconds}s`,
        `--generator-leader-elector-retry-period=${retrySeconds}s`,
      ],
    });
  }

  protector(): Promise<unknown> {
    return this.fleet.protector("deployment-web");
  }

  async waitStanding(candidate: ManagedProcess): Promise<void> {
    await waitFor(`${candidate.name} stands as a candidate`, startLimitMs, () =>
      /attempting to acquire leader lease/i.test(candidate.log()),
    );
  }

  /** kill -9. Resolves to the Lease that it leaves behind. */
  async killed(holder: ManagedProcess): Promise<Lease> {
    holder.signal("SIGKILL");
    await holder.exited;
    return this.lease();
  }

  /**
   * Resolves when a candidate of the kind holds the Lease, for the first time since `transitions` changes of the
   * holder.
   */
  async waitHeld(kind: "client-go" | "podseidon", transitions: number): Promise<Lease> {
    const lease = await waitFor(`${kind} holds the Lease`, takeoverLimitMs, async () => {
      const seen = await this.lease();
      return kindOf(seen.holder) === kind && seen;
    });
    assert.equal(lease.transitions, transitions);
    assert.equal(lease.durationSeconds, leaseSeconds);
    return lease;
  }

  async lease(): Promise<Lease> {
    const { metadata, spec } = await this.#core.admin.get<RawLease>(this.#path());
    return {
      holder: spec.holderIdentity,
      durationSeconds: spec.leaseDurationSeconds,
      acquiredAtMs: Date.parse(spec.acquireTime),
      renewedAtMs: Date.parse(spec.renewTime),
      transitions: spec.leaseTransitions,
      label: metadata.labels?.["kept-by"],
    };
  }

  /** Something that is no business of an elector. */
  async label(): Promise<void> {
    await this.#core.admin.mergePatch(this.#path(), { metadata: { labels: { "kept-by": "both" } } });
  }

  #path(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/default/leases/${this.#name}`;
  }
}

interface RawLease {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly holderIdentity: string;
    readonly leaseDurationSeconds: number;
    readonly acquireTime: string;
    readonly renewTime: string;
    readonly leaseTransitions: number;
  };
}

/** Both take the host's name; then client-go has a UUID, ours 32 digits. */
function kindOf(holder: string): "client-go" | "podseidon" | undefined {
  if (/_[0-9a-f]{32}$/.test(holder)) return "podseidon";
  return /_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(holder) ? "client-go" : undefined;
}
