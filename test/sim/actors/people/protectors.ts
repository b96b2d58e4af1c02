/** The owner of the budget: creates the PodProtector or the Deployment that it is made from, edits and erases them. */
import { type Rng } from "../../../../src/util/rng.ts";
import { type JsonObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { quietly } from "../quietly.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Core } from "../../core.ts";
import { type World } from "../../world.ts";

const { deployments } = builtInResources;

export class ProtectorOwner {
  readonly #world: World;
  readonly #core: Core;
  readonly #rng: Rng;

  constructor(world: World, core: Core) {
    this.#world = world;
    this.#core = core;
    this.#rng = core.rng("owner");
  }

  async start(): Promise<void> {
    const { plan } = this.#world;
    if (plan.hasGenerator) await this.createDeployment();
    else await this.#create("web", this.#core.minAvailable);
    if (plan.hasSecondProtector) await this.#create("zone", Math.max(1, this.#core.minAvailable - 1));
  }

  /** Raises or lowers the floor of a PodProtector, or its compaction. */
  async edit(): Promise<void> {
    const { plan } = this.#world;
    const { server, checkers } = this.#core;
    const total = plan.podsPerCell * plan.cells.length;
    const names = [...checkers.keys()];
    const name = names[Math.floor(this.#rng.next() * names.length)];
    if (name === undefined) return;
    const minAvailable = Math.floor(this.#rng.next() * (total + 1));
    const spec = this.#edited(this.#rng.next(), minAvailable);
    this.#tell(name, spec);
    const patch = { contentType: "application/merge-patch+json", body: { spec } };
    await quietly(() => server.engine.patch(this.#core.protectors, namespace, name, patch));
  }

  /** The generator's checker is told what it did not do. */
  #tell(protector: string, { minAvailable, minReadySeconds, selector }: JsonObject): void {
    const { sources } = this.#core;
    if (minAvailable !== undefined) sources.meddled(namespace, protector, `minAvailable ${Number(minAvailable)}`);
    if (minReadySeconds !== undefined)
      sources.meddled(namespace, protector, `minReadySeconds ${Number(minReadySeconds)}`);
    if (selector !== undefined) sources.meddled(namespace, protector, "selector");
  }

  #edited(draw: number, minAvailable: number): JsonObject {
    if (draw < 0.6) return { minAvailable };
    if (draw < 0.75) return { admissionHistoryConfig: { compactThreshold: 1 + Math.floor(this.#rng.next() * 5) } };
    if (draw < 0.85) return { minReadySeconds: Math.floor(this.#rng.next() * 20) };
    // Counts those that are set aside too, which are not protected.
    if (draw < 0.92) return { aggregationSelector: draw < 0.89 ? { matchLabels: { ours: "yes" } } : null };
    // All pods of the workload, or only those that are not set aside.
    return { selector: { matchLabels: draw < 0.96 ? { app: null, ours: "yes" } : { app: "web", ours: null } } };
  }

  /** Deletes a PodProtector without notice, and creates it again a moment later under the same name. */
  async erase(): Promise<void> {
    const { kernel, plan } = this.#world;
    const { server } = this.#core;
    if (plan.hasGenerator) return;
    await quietly(() => server.engine.delete(this.#core.protectors, namespace, "web"));
    await kernel.pause(this.#rng.next() * 5_000);
    await this.#create("web", this.#core.minAvailable);
  }

  async #create(name: string, minAvailable: number): Promise<void> {
    const { plan } = this.#world;
    const { server } = this.#core;
    await quietly(() =>
      server.engine.create(this.#core.protectors, namespace, {
        apiVersion: "podseidon.kubewharf.io/v1alpha1",
        kind: "PodProtector",
        metadata: { name },
        spec: {
          minAvailable,
          minReadySeconds: plan.minReadySeconds,
          selector: plan.hasRichSelectors ? richSelector : { matchLabels: { app: "web" } },
        },
      }),
    );
  }

  /** The source of the generated PodProtector. */
  async createDeployment(): Promise<void> {
    const { plan } = this.#world;
    const { server } = this.#core;
    const replicas = plan.podsPerCell * plan.cells.length;
    const maxUnavailable = Math.max(0, replicas - this.#core.minAvailable);
    const labels = { app: "web" };
    await quietly(() =>
      server.engine.create(deployments, namespace, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", labels },
        spec: {
          replicas,
          minReadySeconds: plan.minReadySeconds,
          selector: { matchLabels: labels },
          strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable, maxSurge: 1 } },
          template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
        },
      }),
    );
  }
}

/** Selects the same pods, in as many words as possible. */
const richSelector: JsonObject = {
  matchLabels: { app: "web" },
  matchExpressions: [
    { key: "app", operator: "In", values: ["web", "web-2"] },
    { key: "app", operator: "NotIn", values: ["web-2", "a value, with signs"] },
    { key: "ours", operator: "Exists" },
    { key: "tier", operator: "NotIn", values: ["test"] },
    { key: "retired", operator: "DoesNotExist" },
  ],
};
