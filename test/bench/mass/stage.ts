/** The clusters of the mass deletions, and one turn in them. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { type KubeAssets, resolveKubeAssets } from "../../../scripts/kube-assets.ts";
import { ClusterPool } from "../../e2e/clusters/cluster-pool.ts";
import { startKubelet } from "../../e2e/objects/kubelet.ts";
import { type CaseContext } from "../../e2e/runner/runner.ts";
import { type GuardKind, startGuard, workerNames } from "./guard.ts";
import { runWave, type WaveFigures, type WaveSpec } from "./wave.ts";

/** One after the other: the first deletions that new processes see, and the next ones. */
export interface TurnFigures {
  readonly cold: WaveFigures;
  readonly warm: WaveFigures;
}

export class Stage {
  readonly #assets: KubeAssets;
  readonly #directory: string;
  readonly #processes: ProcessSet;
  readonly #pool: ClusterPool;
  readonly #say: (line: string) => void;
  #turns = 0;

  private constructor(assets: KubeAssets, say: (line: string) => void) {
    this.#assets = assets;
    this.#say = say;
    this.#directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-mass-"));
    this.#processes = new ProcessSet();
    const definitions = ["core", ...workerNames].map((name) => ({ name }));
    const environment = { assets, processes: this.#processes, directory: this.#directory };
    this.#pool = new ClusterPool(definitions, environment);
    process.once("exit", () => this.#processes.killAll());
  }

  /** Throws a KubeAssetsError where the programs are neither there nor can be built. */
  static async start(say: (line: string) => void): Promise<Stage> {
    return new Stage(await resolveKubeAssets(say, ["etcd", "kube-apiserver"]), say);
  }

  /** In a namespace and with processes of its own, which end with it. */
  async turn(kind: GuardKind, spec: WaveSpec): Promise<TurnFigures> {
    const namespace = `mass-${++this.#turns}`;
    const cleanups: (() => Promise<unknown> | void)[] = [];
    const context: CaseContext = {
      namespace,
      directory: path.join(this.#directory, namespace),
      assets: this.#assets,
      processes: this.#processes.subset(),
      signal: new AbortController().signal,
      cluster: (name) => this.#pool.cluster(name),
      cleanup: (job) => void cleanups.unshift(job),
      say: this.#say,
    };
    mkdirSync(context.directory, { recursive: true });
    try {
      const guard = await startGuard(context, kind);
      for (const { cluster } of guard.workers) {
        const kubelet = startKubelet({ admin: cluster.admin, namespace, readyDelayMs: "never" });
        context.cleanup(() => kubelet.stop());
      }
      const turn = { context, guard, controlPlane: () => this.#pool.processes() };
      return { cold: await runWave(turn, "cold", spec), warm: await runWave(turn, "warm", spec) };
    } finally {
      for (const job of cleanups) await job();
      await context.processes.end();
    }
  }

  async stop(): Promise<void> {
    await this.#pool.discard();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
