/** The clusters of the mass deletions, and one turn in them. */
import { type KubeAssets, resolveKubeAssets } from "../../../scripts/kube-assets.ts";
import { ClusterPool } from "../../e2e/clusters/cluster-pool.ts";
import { startKubelet } from "../../e2e/objects/kubelet.ts";
import { Products } from "../processes/products.ts";
import { inContext } from "../processes/run-context.ts";
import { type GuardKind, startGuard, workerNames } from "./guard.ts";
import { runWave, type WaveFigures, type WaveSpec } from "./wave.ts";

/** One after the other: the first deletions that new processes see, and the next ones. */
export interface TurnFigures {
  readonly cold: WaveFigures;
  readonly warm: WaveFigures;
}

export class Stage {
  readonly #assets: KubeAssets;
  readonly #products = new Products();
  readonly #pool: ClusterPool;
  readonly #say: (line: string) => void;
  #turns = 0;

  private constructor(assets: KubeAssets, say: (line: string) => void) {
    this.#assets = assets;
    this.#say = say;
    const { processes, directory } = this.#products;
    const definitions = ["core", ...workerNames].map((name) => ({ name }));
    this.#pool = new ClusterPool(definitions, { assets, processes, directory });
  }

  /** Throws a KubeAssetsError where the programs are neither there nor can be built. */
  static async start(say: (line: string) => void): Promise<Stage> {
    return new Stage(await resolveKubeAssets(say, ["etcd", "kube-apiserver"]), say);
  }

  /** In a namespace and with processes of its own, which end with it. */
  turn(kind: GuardKind, spec: WaveSpec): Promise<TurnFigures> {
    const namespace = `mass-${++this.#turns}`;
    const cluster = this.#pool.cluster.bind(this.#pool);
    const shared = { namespace, assets: this.#assets, cluster, say: this.#say };
    return inContext(this.#products, shared, async (context) => {
      const guard = await startGuard(context, kind);
      for (const { cluster: worker } of guard.workers) {
        const kubelet = startKubelet({ admin: worker.admin, namespace, readyDelayMs: "never" });
        context.cleanup(() => kubelet.stop());
      }
      const turn = { context, guard, controlPlane: () => this.#pool.processes() };
      return { cold: await runWave(turn, "cold", spec), warm: await runWave(turn, "warm", spec) };
    });
  }

  async stop(): Promise<void> {
    await this.#pool.discard();
    await this.#products.end();
  }
}
