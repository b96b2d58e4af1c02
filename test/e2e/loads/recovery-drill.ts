/**
 * What every role must do again after an outage, each step timed: pods under a floor in two workers, one of which has
 * the outages.
 */
import assert from "node:assert/strict";
import { type Cluster } from "../clusters/cluster.ts";
import { type DeletionAttempt, deleteNow } from "../objects/deletions.ts";
import { type Fleet, type FleetOptions, type Worker } from "../fleet/fleet.ts";
import { createPods, isServing, listPods } from "../objects/pods.ts";
import { type PodseidonProcess } from "../fleet/process.ts";
import { startProtectedPods, webLabels } from "./protected-pods.ts";
import { type CaseContext } from "../runner/runner.ts";
import { createPausedDeployment, dummyPod, waitTouched } from "../fleet/signs-of-work.ts";
import { GiveUp, waitFor } from "../clusters/wait.ts";

/**
 * Each step of a recovery. A watch waits up to 5 s for a server that was away or did not know us, 5 s longer for one
 * that is just starting (it asks for that), and again up to 10 s before the list that a restarted server makes
 * necessary; up to 30 s for one that answers with errors (src/kube/watch/state.ts). The rest is for Leases (4.4 s
 * between two attempts) and for what follows on a busy machine.
 */
const recoveryLimitMs = 45_000;
/** A replica whose watch is back judges by counts that are milliseconds old. */
const freshLimitMs = 5_000;
const podsPerCell = 5;
/** One below the pods at the start. */
export const floor = 9;

/** Milliseconds after the end of an outage. */
export interface Recovery {
  /** All roles answer their readiness probe with 200. */
  readonly readyMs: number;
  /** The counts are those of the pods that are there, and no admission is unsettled. */
  readonly countedMs: number;
  /** A webhook admits a deletion. */
  readonly admittedMs: number;
  /** Refusals until then: each is from a replica whose watch is not back and that judges by the counts of before. */
  readonly refusals: number;
  /** Every webhook replica has heard of the PodProtectors since the outage. */
  readonly webhooksMs: number;
  /** Deletions down to the floor are counted and settled. */
  readonly settledMs: number;
  /** Besides, the generator protects a new Deployment and the update-triggers touch their pods. */
  readonly everythingMs: number;
}

/** Pods under a floor in two workers, one of them with outages of its own. */
export class RecoveryDrill {
  readonly fleet: Fleet;
  readonly core: Cluster;
  /** The worker that has the outages, and the one that has none. */
  readonly first: Worker;
  readonly second: Worker;
  readonly #roles: readonly PodseidonProcess[];
  readonly #pids: readonly number[];
  readonly #say: (line: string) => void;
  #created = 0;
  #recoveries = 0;

  constructor(fleet: Fleet, say: (line: string) => void) {
    const [first, other] = fleet.workers;
    assert.ok(first !== undefined && other !== undefined && fleet.generator !== undefined);
    this.fleet = fleet;
    this.#say = say;
    this.core = fleet.core;
    this.first = first;
    this.second = other;
    this.#roles = [...fleet.webhooks, ...fleet.aggregators, fleet.generator];
    this.#pids = this.#roles.map((role) => role.process.pid);
  }

  async create({ cluster }: Worker, count: number): Promise<void> {
    // They sort behind the pods of the start, which cases name.
    const namePrefix = `web-more-${++this.#created}`;
    await createPods(cluster.admin, { namespace: this.fleet.namespace, count, namePrefix, labels: webLabels });
  }

  /** Resolves to the answer's code, 0 without an answer. */
  async remove(worker: Worker, name: string): Promise<number> {
    return (await this.#attempt(worker, name)).code;
  }

  /** Behind the API server's back, so that it also works while that is away. */
  async lose({ cluster }: Worker, name: string): Promise<void> {
    await cluster.etcd.loseObject(`pods/${this.fleet.namespace}/${name}`);
  }

  /** Resolves when the deletion is admitted. */
  async removeInTime(worker: Worker, name: string): Promise<void> {
    await this.#waitAdmitted(() => this.#attempt(worker, name), freshLimitMs);
  }

  async servingCount(): Promise<number> {
    return (await this.#serving()).flat().length;
  }

  async countedSum(): Promise<number | undefined> {
    return (await this.fleet.protector("web")).status?.summary.aggregatedAvailableReplicas;
  }

  async waitReady(roles: readonly PodseidonProcess[] = this.#roles): Promise<void> {
    await Promise.all(roles.map((role) => role.waitReady(recoveryLimitMs)));
  }

  /** Resolves when the counts are those of the pods that are there. */
  async waitCounted(): Promise<void> {
    await waitFor("the counts are those of the pods that are there", recoveryLimitMs, async () => {
      return (await this.countedSum()) === (await this.servingCount());
    });
  }

  /** Resolves when everything works again; the outage ended at `sinceMs`. More pods than the floor have to be there. */
  async recover(sinceMs: number): Promise<Recovery> {
    const { fleet } = this;
    const elapsedMs = (): number => Math.round(performance.now() - sinceMs);
    const hearing = this.#waitHeard(elapsedMs);
    await this.waitReady();
    const readyMs = elapsedMs();
    await this.waitCounted();
    await fleet.waitSettled("web", recoveryLimitMs);
    const countedMs = elapsedMs();

    let left = await this.servingCount();
    assert.ok(left > floor, `only ${left} pods are there`);
    const refusals = await this.#waitAdmitted(() => this.#removeOne(), recoveryLimitMs);
    const admittedMs = elapsedMs();
    // A replica whose watch is not back yet reads the PodProtector before it refuses.
    assert.equal(refusals, 0, "refused by counts that the core had replaced");
    const webhooksMs = await hearing;
    for (left--; left > floor; left--) await this.#waitAdmitted(() => this.#removeOne(), freshLimitMs);
    await fleet.waitCounted("web", floor, recoveryLimitMs);
    await fleet.waitSettled("web", recoveryLimitMs);
    const settledMs = elapsedMs();
    assert.equal((await this.#removeOne()).code, 429, "admitted below the floor");
    await this.#everyRoleWorks();
    return { readyMs, countedMs, admittedMs, refusals, webhooksMs, settledMs, everythingMs: elapsedMs() };
  }

  /** The serving pods of each worker, in the order of their names. */
  #serving(): Promise<readonly (readonly string[])[]> {
    const { namespace, workers } = this.fleet;
    return Promise.all(
      workers.map(async ({ cluster }) => {
        const pods = await listPods(cluster.admin, namespace, "app=web");
        return pods.filter(isServing).map(({ metadata }) => metadata.name);
      }),
    );
  }

  /** A pod of the worker that has more of them. */
  async #removeOne(): Promise<DeletionAttempt> {
    const [ofFirst = [], ofSecond = []] = await this.#serving();
    return ofFirst.length > ofSecond.length
      ? this.#attempt(this.first, ofFirst.at(-1) ?? "")
      : this.#attempt(this.second, ofSecond.at(-1) ?? "");
  }

  #attempt({ cluster }: Worker, name: string): Promise<DeletionAttempt> {
    return deleteNow(cluster.admin, this.fleet.namespace, name);
  }

  /**
   * Resolves when every webhook replica has news that are younger than the end of the outage, to the time since then.
   */
  async #waitHeard(elapsedMs: () => number): Promise<number> {
    await this.fleet.waitHeard(elapsedMs, recoveryLimitMs);
    return elapsedMs();
  }

  /**
   * Resolves to the number of refusals before; the caller tries again, as controllers do.
   */
  async #waitAdmitted(remove: () => Promise<DeletionAttempt>, limitMs: number): Promise<number> {
    let refusals = 0;
    await waitFor("a deletion is admitted", limitMs, async () => {
      const { code, message } = await remove();
      if (code === 200) return true;
      if (code !== 429) throw new GiveUp(`a deletion is answered with ${code}: ${message}`);
      if (refusals++ === 0) this.#say(`refused: ${message}`);
      return false;
    });
    return refusals;
  }

  /**
   * The generator protects a new Deployment, both update-triggers touch their pods, everything is ready, no process is
   * another one.
   */
  async #everyRoleWorks(): Promise<void> {
    const { fleet } = this;
    const name = `after-outage-${++this.#recoveries}`;
    await createPausedDeployment(fleet, name);
    await waitFor("the generator protects a Deployment", recoveryLimitMs, () => fleet.protector(`deployment-${name}`));
    await Promise.all(
      fleet.workers.map(({ cell, cluster }) => waitTouched(cluster.admin, recoveryLimitMs, dummyPod, `${cell}: `)),
    );
    await this.waitReady();
    assert.deepEqual(
      this.#roles.map(({ process }) => process.exit()),
      this.#roles.map(() => undefined),
    );
    assert.deepEqual(
      this.#roles.map(({ process }) => process.pid),
      this.#pids,
    );
  }
}

/** Resolves when everything is counted and intercepted; without `kubeconfig` the roles are admin. */
export async function startRecoveryDrill(
  context: CaseContext,
  kubeconfig?: FleetOptions["kubeconfig"],
): Promise<RecoveryDrill> {
  const options = { podsPerCell, floor, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
  return new RecoveryDrill((await startProtectedPods(context, options)).fleet, (line) => context.say(line));
}
