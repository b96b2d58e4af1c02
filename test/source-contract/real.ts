/**
 * A real kube-apiserver as a target: all kinds share it and the generator, and each case has a namespace of its own for
 * each kind. There are no controllers, which would answer to what the cases create.
 */
import { setTimeout as delay } from "node:timers/promises";
import { podProtectors } from "../../src/kube/resources.ts";
import { type Cluster } from "../e2e/clusters/cluster.ts";
import { applyCrd } from "../e2e/objects/crd.ts";
import { crdFile } from "../e2e/fleet/fleet.ts";
import { Limiter } from "../e2e/clusters/limiter.ts";
import { createNamespace } from "../e2e/objects/pods.ts";
import { type PodseidonProcess, startPodseidon } from "../e2e/fleet/process.ts";
import { type CaseContext } from "../e2e/runner/runner.ts";
import { Bench, type ContractCase } from "./bench.ts";
import { Rendezvous } from "./rendezvous.ts";
import { type SourceSample } from "./samples.ts";
import { type Target } from "./target.ts";

const waitMs = 150;
/** A minute, and three where CRDs come and go: only a hang takes that long. */
const waits = { soon: 400, late: 1_200, unchanged: 10 } as const;
const manyCount = 40;
/** Two cores answer no more than that. */
const playedAtOnce = 20;
const selector = "guard notin (no)";

/** Where the storage keeps what the API server calls otherwise. */
const storageFolders: Readonly<Record<string, string>> = { replicationcontrollers: "controllers" };

export interface RealOptions {
  /** Kinds that the generator works for, besides Deployments. */
  readonly samples: readonly SourceSample[];
  readonly massChanges: "hold" | "allow";
}

export class RealTargets {
  readonly #context: CaseContext;
  readonly #cluster: Cluster;
  readonly #samples: readonly SourceSample[];
  #generator: PodseidonProcess;
  readonly #rendezvous = new Rendezvous(
    async () => void (await this.#generator.terminate()),
    async () => void (this.#generator = await this.#generator.startAgain()),
  );
  readonly #turns = new Limiter(1);
  #namespaces = 0;

  constructor(context: CaseContext, cluster: Cluster, samples: readonly SourceSample[], generator: PodseidonProcess) {
    this.#context = context;
    this.#cluster = cluster;
    this.#samples = samples;
    this.#generator = generator;
  }

  /**
   * Plays each case with each kind, as many as may be side by side. Resolves to what went wrong. A kind that has failed
   * begins no further case: each would wait for a minute.
   */
  async play(cases: readonly ContractCase[]): Promise<readonly string[]> {
    const limiter = new Limiter(playedAtOnce);
    const isAlone = (one: ContractCase): boolean => one.isAlone === true;
    const together = cases.filter((one) => !isAlone(one));
    const rounds = [...(together.length === 0 ? [] : [together]), ...cases.filter(isAlone).map((one) => [one])];
    const failures = new Map<SourceSample, string[]>();
    for (const round of rounds) {
      const startMs = performance.now();
      const plays = round.flatMap((one) => this.#samples.map((sample) => ({ one, sample })));
      // Those that wait for each other must all have begun.
      const inTurn = (play: () => Promise<void>) => (round.length === 1 ? play() : limiter.run(play));
      await this.#rendezvous.playAll(plays, ({ one, sample }) =>
        inTurn(async () => {
          if (failures.has(sample)) return;
          try {
            const bench = new Bench(sample, await this.#target());
            await bench.play(one);
          } catch (error) {
            failures.set(sample, [
              ...(failures.get(sample) ?? []),
              error instanceof Error ? error.message : String(error),
            ]);
          }
        }),
      );
      const what = round.length === 1 ? `"${round[0]?.name}"` : `${round.length} cases`;
      this.#context.say(`${what}: ${Math.round(performance.now() - startMs)} ms`);
    }
    return [...failures.values()].flat();
  }

  async #target(): Promise<Target> {
    const { admin } = this.#cluster;
    this.#namespaces += 1;
    const namespace = `${this.#context.namespace}-${this.#namespaces}`;
    await createNamespace(admin, namespace);
    return {
      namespace,
      stateNamespace: this.#context.namespace,
      request(method, path, body) {
        const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
        return admin.request(method, path, { contentType, ...(body === undefined ? {} : { body }) });
      },
      wait: () => delay(waitMs),
      waits,
      epochMs: () => Date.now(),
      erase: async (objects, of) => {
        const { group, resource } = of === "PodProtectors" ? podProtectors : of.kind.resource;
        const folder = group.includes(".") && group !== "rbac.authorization.k8s.io" ? `${group}/${resource}` : resource;
        const lose = async (): Promise<void> => {
          for (const { metadata } of objects)
            await this.#cluster.etcd.loseObject(`${storageFolders[folder] ?? folder}/${namespace}/${metadata.name}`);
        };
        // Of a kind without finalizers, whoever watches cannot tell it from a deletion.
        if (of !== "PodProtectors" && of.kind.isNeverWritten === true) await this.#rendezvous.whileStopped(lose);
        else await lose();
      },
      whileAway: (job) => this.#rendezvous.whileStopped(job),
      inTurn: (job) => this.#turns.run(job),
      errors: async () => {
        const lines = this.#generator.process.log().split("\n");
        return lines.filter((line) => line.includes('"level":"error"') && line.includes(`"${namespace}/`));
      },
      manyCount,
    };
  }
}

/** A generator that works for these kinds, on a core without their CRDs. */
export async function startRealTargets(context: CaseContext, options: RealOptions): Promise<RealTargets> {
  const { processes, directory, namespace } = context;
  const { samples, massChanges } = options;
  const cluster = await context.cluster("sources");
  await applyCrd(cluster.admin, crdFile);
  await createNamespace(cluster.admin, namespace);
  const sources = new Set(["deployments.apps", ...samples.map(({ id }) => id)]);
  const generator = await startPodseidon({
    processes,
    directory,
    name: "generator",
    role: "generator",
    args: [
      `--core-kube-config=${cluster.kubeconfigPath("admin")}`,
      `--cell-lease-namespace=${namespace}`,
      "--generator-leader-elector-namespace=default",
      `--generator-leader-elector-name=generator-${namespace}`,
      `--generator-sources=${[...sources].join(",")}`,
      `--generator-source-selector=${selector}`,
      `--deployment-plugin-protection-selector=${selector}`,
      `--generator-mass-change-policy=${massChanges}`,
    ],
  });
  return new RealTargets(context, cluster, samples, generator);
}
