/**
 * Deployments of every kind beside the one that is checked, in the namespace of the bystanders, and what people do to
 * what is generated from them.
 */
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { protectorNameOf } from "../../../src/generator/sources/source-plan.ts";
import { deployments as ofDeployments } from "../../../src/sources/deployment.ts";
import { type JsonObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources, type ResourceType } from "../../double/engine/resources.ts";
import { sideNamespace } from "../clusters/namespaces.ts";
import { type World } from "../world.ts";
import { Draws } from "../../support/draws.ts";
import { quietly } from "./quietly.ts";
import { drawSelector } from "./selectors.ts";

const { deployments, namespaces } = builtInResources;
/** The longest of them do not fit into a label, or not even with a prefix into a name. */
const names = ["plain", "other", "n".repeat(70), `${"m".repeat(240)}-1234`] as const;

/** More than a generator takes part in without a pause. */
const roundsOfFight = 40;

export class OddDeployments {
  readonly #world: World;
  readonly #draws: Draws;

  constructor(world: World) {
    this.#world = world;
    this.#draws = new Draws(world.kernel.rng("odd deployments"));
  }

  async act(): Promise<void> {
    const { engine } = this.#world.core.server;
    if (engine.find(namespaces, undefined, sideNamespace) === undefined) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: sideNamespace } };
      await quietly(() => engine.create(namespaces, undefined, body));
    }
    const name = this.#draws.oneOf<string>(...names);
    const present = engine.find(deployments, sideNamespace, name);
    const draw = this.#draws.between(0, 1);
    if (present === undefined) await this.#create(name);
    else if (draw < 0.35) await this.#edit(present);
    else if (draw < 0.5) await quietly(() => engine.delete(deployments, sideNamespace, name));
    else if (draw < 0.58) await this.#loseSource(name);
    else await this.#meddle(protectorNameOf(ofDeployments, name));
  }

  async #create(name: string): Promise<void> {
    const { engine } = this.#world.core.server;
    if (this.#draws.chance(0.1)) await this.#occupy(protectorNameOf(ofDeployments, name));
    const matchLabels = { app: "side" };
    const hasExpressions = this.#draws.chance(0.3);
    const selector = {
      matchLabels,
      ...(hasExpressions ? { matchExpressions: [{ key: "app", operator: "Exists" }] } : {}),
    };
    await quietly(() =>
      engine.create(deployments, sideNamespace, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, labels: this.#labels() },
        spec: {
          ...this.#scale(),
          selector,
          template: { metadata: { labels: matchLabels }, spec: { containers: [{ name: "main", image: "side:1" }] } },
        },
      }),
    );
  }

  #labels(): JsonObject {
    return this.#draws.chance(0.25) ? { unprotected: "yes" } : { unprotected: "no" };
  }

  #scale(): JsonObject {
    const draws = this.#draws;
    const rollingUpdate = draws.oneOf<JsonObject>(
      { maxUnavailable: 1, maxSurge: 1 },
      { maxUnavailable: "30%", maxSurge: 0 },
      { maxUnavailable: 0, maxSurge: "30%" },
      { maxUnavailable: "0%", maxSurge: "0%" },
      { maxUnavailable: "some", maxSurge: "none" },
      {},
    );
    const replicas = draws.oneOf<number | undefined>(undefined, 0, 1, 3, 10);
    return {
      ...(replicas === undefined ? {} : { replicas }),
      strategy: draws.chance(0.2) ? { type: "Recreate" } : { type: "RollingUpdate", rollingUpdate },
      ...(draws.chance(0.2) ? { paused: true } : {}),
      ...(draws.chance(0.5) ? { minReadySeconds: draws.whole(0, 5) } : {}),
    };
  }

  async #edit(present: KubeObject): Promise<void> {
    const body = {
      ...present,
      metadata: { ...present.metadata, labels: this.#labels() },
      spec: { ...present.spec, ...this.#scale() },
    };
    const { name } = present.metadata;
    await quietly(() => this.#world.core.server.engine.update(deployments, sideNamespace, name, body));
  }

  /** The finalizer is taken away by force, and the Deployment goes unseen. */
  async #loseSource(name: string): Promise<void> {
    await this.#patch(deployments, name, { metadata: { finalizers: null } });
    await quietly(() => this.#world.core.server.engine.delete(deployments, sideNamespace, name));
  }

  /** A person's PodProtector has the name that a generated one would have. */
  async #occupy(name: string): Promise<void> {
    const spec = { minAvailable: 0, minReadySeconds: 0, selector: drawSelector(this.#draws) };
    const body = { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector", metadata: { name }, spec };
    await quietly(() => this.#world.core.server.engine.create(this.#world.core.protectors, sideNamespace, body));
  }

  async #meddle(name: string): Promise<void> {
    const { core } = this.#world;
    const { protectors } = core;
    const foreign = { apiVersion: "v1", kind: "ConfigMap", name: "own", uid: "u-1", controller: true };
    const former = { apiVersion: "apps/v1", kind: "Deployment", name: "plain", uid: "u-2" };
    const changes: readonly JsonObject[] = [
      { spec: { minAvailable: 0 } },
      { spec: { minReadySeconds: 30 } },
      { spec: { selector: { matchLabels: { app: null, other: "yes" } } } },
      { spec: { selector: { matchLabels: null, matchExpressions: [{ key: "app", operator: "Near" }] } } },
      { spec: { admissionHistoryConfig: { compactThreshold: 2 } } },
      { spec: { minAvailable: "broken" } },
      { metadata: { labels: null } },
      { metadata: { finalizers: null } },
      { metadata: { finalizers: [finalizer, "example.com/kept"] } },
      { metadata: { labels: null, finalizers: null, ownerReferences: null } },
      { metadata: { ownerReferences: [foreign] } },
      { metadata: { ownerReferences: [former] } },
      { metadata: { ownerReferences: null } },
      { metadata: { annotations: { [annotations.released]: "true" } } },
      { metadata: { annotations: { [annotations.removeCellOnce]: "a" } } },
    ];
    if (this.#draws.chance(0.05)) return await this.#fight(name);
    const change = this.#draws.pickAny(changes);
    if (change !== undefined) await this.#patch(protectors, name, change);
    if (this.#draws.chance(0.15)) await quietly(() => core.server.engine.delete(protectors, sideNamespace, name));
  }

  /** Another controller insists on what it wants. */
  async #fight(name: string): Promise<void> {
    const { kernel } = this.#world;
    const { protectors } = this.#world.core;
    for (let round = 0; round < roundsOfFight; round += 1) {
      await this.#patch(protectors, name, { spec: { minAvailable: round } });
      await kernel.pause(this.#draws.between(20, 200));
    }
  }

  async #patch(type: ResourceType, name: string, body: JsonObject): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body };
    await quietly(() => this.#world.core.server.engine.patch(type, sideNamespace, name, patch));
  }
}
