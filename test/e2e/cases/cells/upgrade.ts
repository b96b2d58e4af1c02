/**
 * From the earlier release to this one and back, one part after the other, under load (docs/upgrading.md): pods are
 * deleted while each part is replaced, and reviews come all the time.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { AvailableWatch } from "../../loads/available.ts";
import { applyCrd } from "../../objects/crd.ts";
import { type DeletionAttempt, deletionFigures, deletePods } from "../../objects/deletions.ts";
import { type EarlierRelease, earlierRelease } from "../../fleet/earlier-release.ts";
import { crdFile, type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createPods, isServing, listPods } from "../../objects/pods.ts";
import { type PodseidonProcess, type Program, program } from "../../fleet/process.ts";
import { followReadiness } from "../../fleet/ready-endpoints.ts";
import { type ReviewLoadEnd, startReviewLoad } from "../../objects/review-load.ts";
import { installRights, replacePolicies } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const podsPerCell = 15;
const floor = 18;
const inFlightPerCell = 5;
const postedPerSecond = 100;
/** Every fifth review needs quota, and both releases record it in the same object. */
const reservingShare = 5;
const labels = { app: "web" };

type Part = "crd" | "policies" | "webhooks" | "aggregators" | "generator";

export const upgradeCases = e2eCases({
  "upgrade: from the earlier release and back under load: every review is answered, and the floor holds": [
    300 * second,
    (context) => upgraded(context, ["crd", "policies", "webhooks", "aggregators", "generator"]),
    { isAlone: true },
  ],
  "upgrade: in the wrong order, CRD and policies last, and back: nothing fails, and what is dropped is said": [
    300 * second,
    (context) => upgraded(context, ["generator", "aggregators", "webhooks", "crd", "policies"]),
    { isLong: true },
  ],
});

async function upgraded(context: CaseContext, order: readonly Part[]): Promise<Figures> {
  const earlier = earlierRelease(path.join(context.directory, "earlier"));
  const { admin } = await context.cluster("core");
  context.cleanup(() => applyCrd(admin, crdFile));
  context.cleanup(() => installRights(admin));
  const isRightOrder = order[0] === "crd";
  // The earlier release has no policies. Those of releases between knew fewer conditions.
  await (isRightOrder ? replacePolicies(admin) : replacePolicies(admin, withFewerConditions));
  const fleet = await startFleet(context, {
    crd: earlier.crd,
    program: earlier.program,
    aggregatorArgs: ["--update-trigger-enable"],
    dummyPodInside: true,
    // Stops as in production.
    webhookArgs: ["--webhook-drain-delay=3s"],
  });
  const available = await startPods(context, fleet);
  await createSource(fleet);
  const service = followReadiness(context, fleet);
  const load = await startLoad(fleet);

  const stage = new Upgrade(fleet, earlier, isRightOrder);
  const waves = new Waves(fleet, available);
  for (const part of order) await waves.during(part, () => stage.install(part, "present"));
  const noticed = isRightOrder ? {} : await noticedPruning(fleet);
  for (const part of order.toReversed()) await waves.during(`${part} back`, () => stage.install(part, "earlier"));
  await fleet.waitSettled("web", 60 * second);

  const reviews = await load.stop();
  service.stop();
  judge(reviews, waves, available);
  assert.equal((await sourceProtector(fleet)).metadata.uid, stage.sourceUID, "the generator kept its PodProtector");
  const { deleted, refused } = waves.figures();
  return { reviews: reviews.answered, failed: 0, deleted, refused, lowest: available.minimum, floor, ...noticed };
}

async function startPods(context: CaseContext, fleet: Fleet): Promise<AvailableWatch> {
  const { namespace, workers } = fleet;
  for (const { cluster } of workers) {
    const { admin } = cluster;
    await createPods(admin, { namespace, count: podsPerCell, namePrefix: "web", labels });
    await createPods(admin, { namespace, count: 4, namePrefix: "posted", labels: { app: "posted" } });
    await createPods(admin, { namespace, count: 1, namePrefix: "plain", labels: { app: "plain" } });
    const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
    context.cleanup(() => kubelet.stop());
  }
  const available = new AvailableWatch(context, fleet, "app=web");
  const all = workers.length * podsPerCell;
  await available.begin(all);
  await fleet.protect("web", labels, floor, all);
  await fleet.protect("posted", { app: "posted" }, 4, workers.length * 4);
  await fleet.waitIntercepted();
  return available;
}

/** A Deployment without pods of its own, for the generator. */
async function createSource(fleet: Fleet): Promise<void> {
  const { namespace, core } = fleet;
  const source = { app: "source" };
  await core.admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "source" },
    spec: {
      replicas: 4,
      paused: true,
      selector: { matchLabels: source },
      template: { metadata: { labels: source }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  await waitFor("the generator has made a PodProtector", 30 * second, () =>
    sourceProtector(fleet).then(
      () => true,
      () => false,
    ),
  );
}

function sourceProtector(fleet: Fleet): ReturnType<Fleet["protector"]> {
  return fleet.protector("deployment-source");
}

async function startLoad(fleet: Fleet): Promise<{ stop(): Promise<ReviewLoadEnd> }> {
  const worker = present(fleet.workers[0]);
  const { namespace, balancer, caPem } = fleet;
  assert.ok(balancer !== undefined);
  const [posted] = await listPods(worker.cluster.admin, namespace, "app=posted");
  const [plain] = await listPods(worker.cluster.admin, namespace, "app=plain");
  assert.ok(posted !== undefined && plain !== undefined);
  return startReviewLoad({
    url: `https://127.0.0.1:${balancer.port}/${worker.cell}`,
    caPem,
    perSecond: postedPerSecond,
    podOf: (n) => (n % reservingShare === 0 ? posted : plain),
  });
}

/** Replaces one part after the other by that of the other release. */
class Upgrade {
  sourceUID = "";
  readonly #fleet: Fleet;
  readonly #earlier: EarlierRelease;
  readonly #hasNoPolicies: boolean;

  constructor(fleet: Fleet, earlier: EarlierRelease, hasNoPolicies: boolean) {
    this.#fleet = fleet;
    this.#earlier = earlier;
    this.#hasNoPolicies = hasNoPolicies;
  }

  async install(part: Part, release: "earlier" | "present"): Promise<void> {
    const fleet = this.#fleet;
    const { admin } = fleet.core;
    const isPresent = release === "present";
    const as = isPresent ? program() : this.#earlier.program;
    switch (part) {
      case "crd":
        return applyCrd(admin, isPresent ? crdFile : this.#earlier.crd);
      case "policies":
        if (isPresent) return installRights(admin);
        return replacePolicies(admin, this.#hasNoPolicies ? () => undefined : withFewerConditions);
      case "webhooks":
        for (const [index, webhook] of fleet.webhooks.entries()) fleet.webhooks[index] = await replaced(webhook, as);
        return undefined;
      case "aggregators":
        fleet.aggregators = await Promise.all(fleet.aggregators.map((aggregator) => replaced(aggregator, as)));
        return undefined;
      case "generator":
        this.sourceUID ||= (await sourceProtector(fleet)).metadata.uid;
        assert.ok(fleet.generator !== undefined);
        fleet.generator = await replaced(fleet.generator, as);
        return undefined;
      default:
        return part satisfies never;
    }
  }
}

async function replaced(one: PodseidonProcess, as: Program): Promise<PodseidonProcess> {
  const { code } = await one.terminate();
  assert.equal(code, 0, one.process.log().slice(-1_000));
  return one.startAgain(as);
}

/** All pods are to be deleted while a part is replaced. Then they are made again, and have to be counted. */
class Waves {
  readonly attempts: DeletionAttempt[] = [];
  readonly #fleet: Fleet;
  readonly #available: AvailableWatch;

  constructor(fleet: Fleet, available: AvailableWatch) {
    this.#fleet = fleet;
    this.#available = available;
  }

  async during(what: string, install: () => Promise<void>): Promise<void> {
    const [, attempts] = await Promise.all([install(), this.#deleteAll()]);
    this.attempts.push(...attempts);
    for (const { code, message } of attempts) {
      assert.ok(code === 200 || code === 429, `while ${what} was replaced: ${code} ${message}`);
    }
    await this.#makeAgain(what.replace(" ", "-"));
  }

  figures(): ReturnType<typeof deletionFigures> {
    return deletionFigures(this.attempts);
  }

  async #deleteAll(): Promise<readonly DeletionAttempt[]> {
    const { namespace, workers } = this.#fleet;
    const all = workers.map(async ({ cluster: { admin } }) => {
      const pods = await listPods(admin, namespace, "app=web");
      const names = pods.filter(isServing).map(({ metadata }) => metadata.name);
      return deletePods(admin, { namespace, names, concurrency: inFlightPerCell, how: "delete" });
    });
    return (await Promise.all(all)).flat();
  }

  async #makeAgain(namePrefix: string): Promise<void> {
    const { namespace, workers } = this.#fleet;
    for (const { cluster } of workers) {
      const left = (await listPods(cluster.admin, namespace, "app=web")).filter(isServing).length;
      await createPods(cluster.admin, { namespace, count: podsPerCell - left, namePrefix, labels });
    }
    const all = workers.length * podsPerCell;
    await waitFor("all pods serve again", 30 * second, () => this.#available.serving === all);
    await this.#fleet.waitCounted("web", all);
  }
}

function judge({ failures, answers, answered }: ReviewLoadEnd, waves: Waves, available: AvailableWatch): void {
  assert.deepEqual(failures.slice(0, 20), []);
  const allowed = answers.get("allowed") ?? 0;
  assert.ok(allowed > answered * (1 - 1 / reservingShare), `some that need quota: ${JSON.stringify([...answers])}`);
  const { deleted, refused, otherwise } = waves.figures();
  assert.ok(deleted > 0 && refused > 0 && otherwise === 0, JSON.stringify({ deleted, refused, otherwise }));
  assert.ok(available.minimum >= floor, `${available.minimum} of ${floor} were left`);
}

/** The policies of aggregators as they were before the conditions Pruned and Ready. */
function withFewerConditions<T extends object>(policy: T): T {
  return JSON.parse(JSON.stringify(policy).replace(", 'Pruned', 'Ready']", "]")) as T;
}

/** Aggregators of this release met the CRD of the earlier one, and policies that refuse their conditions. */
async function noticedPruning(fleet: Fleet): Promise<Figures> {
  let pruned = 0;
  let without = 0;
  for (const aggregator of fleet.aggregators) {
    const metrics = await aggregator.metrics();
    pruned += metrics.value("extension_fields_pruned_total") ?? 0;
    without += metrics.value("aggregator_status_write_total", { result: "without-conditions" }) ?? 0;
    assert.match(aggregator.process.log(), /drops extension fields/);
  }
  assert.ok(pruned > 0, "no aggregator has noticed the CRD of the earlier release");
  assert.ok(without > 0, "the policies of the earlier release have refused no conditions");
  return { pruned, without };
}
