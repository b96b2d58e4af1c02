/** The pods of a scenario: made, moved and ended one by one, on the word of the scenario. */
import { formatSeconds } from "../../../double/engine/metadata.ts";
import { asArray, asObject, type JsonObject, type KubeObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Cell } from "../../world.ts";

const { pods } = builtInResources;
const kubelet = { username: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] };

/** Milliseconds, or what a time may be that is none. */
export type Ahead = number | keyof typeof odd;
const odd = { missing: null, zero: "0001-01-01T00:00:00Z" } as const;

export class Pods {
  readonly #cell: Cell;
  #touches = 0;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  find(name: string): KubeObject | undefined {
    return this.#cell.server.engine.find(pods, namespace, name);
  }

  /** `ahead`: how its Ready time is wrong, as for setReady. `owner`: the kind of its controller; "" = none. */
  async create(name: string, app: string, isReady: boolean, ahead?: Ahead, owner = ""): Promise<void> {
    const [kind = "", ...group] = owner.split(".");
    const apiVersion = group.length === 0 ? "v1" : `${group.join(".")}/v1`;
    const ownerReferences = [{ apiVersion, kind, name: "owner", uid: "uid-of-owner", controller: true }];
    await this.#cell.server.engine.create(pods, namespace, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app, ours: "yes" }, ...(owner !== "" && { ownerReferences }) },
      spec: { nodeName: "node-1", containers: [{ name: "main", image: "web:1" }], terminationGracePeriodSeconds: 30 },
    });
    if (isReady) await this.setReady(name, true, ahead);
  }

  /** `ahead`: by how much the clock of its node is, or what is in place of the time. */
  async setReady(name: string, isReady: boolean, ahead: Ahead = 0): Promise<void> {
    const status = isReady ? "True" : "False";
    const reason = isReady ? {} : { reason: "ContainersNotReady" };
    const now = this.#cell.node.clock.epochMicros();
    const lastTransitionTime = typeof ahead === "number" ? formatSeconds(now + 1000 * ahead) : odd[ahead];
    await this.#setConditions(name, [
      ...["PodScheduled", "Initialized"].map((type) => ({ type, status: "True", lastTransitionTime })),
      ...["ContainersReady", "Ready"].map((type) => ({ type, status, ...reason, lastTransitionTime })),
    ]);
  }

  /** The control plane hears nothing of the kubelet, and says no more than that the pod is not Ready. */
  async loseSight(name: string): Promise<void> {
    const lastTransitionTime = formatSeconds(this.#cell.node.clock.epochMicros());
    await this.#setConditions(name, [{ type: "Ready", status: "False", lastTransitionTime }]);
  }

  async #setConditions(
    name: string,
    conditions: readonly { type: string; status: string; lastTransitionTime: unknown }[],
  ): Promise<void> {
    const present = asArray(asObject(this.find(name)?.status)["conditions"]).map(asObject);
    const others = present.filter(({ type }) => !conditions.some((one) => one.type === type));
    await this.#patch(name, { status: { phase: "Running", conditions: [...others, ...conditions] } }, "status");
  }

  /** Somebody writes something that means nothing to us, so many times. */
  async touch(name: string, times: number): Promise<void> {
    for (let left = times; left > 0; left -= 1) {
      this.#touches += 1;
      await this.annotate(name, "touched", String(this.#touches));
    }
  }

  async annotate(name: string, key: string, value: string): Promise<void> {
    await this.#patch(name, { metadata: { annotations: { [key]: value } } });
  }

  /** The pod goes without asking anybody, as when its node is removed. */
  async vanish(name: string): Promise<void> {
    const { engine } = this.#cell.server;
    // A terminating pod is reviewed, but always let go.
    await engine.patch(
      pods,
      namespace,
      name,
      { contentType: "application/merge-patch+json", body: { status: { phase: "Failed" } } },
      { caller: kubelet, subresource: "status" },
    );
    await engine.delete(pods, namespace, name, { gracePeriodSeconds: 0 }, { caller: kubelet });
  }

  async #patch(name: string, body: JsonObject, subresource?: "status"): Promise<void> {
    const options = { caller: kubelet, ...(subresource !== undefined && { subresource }) };
    const patch = { contentType: "application/merge-patch+json", body };
    await this.#cell.server.engine.patch(pods, namespace, name, patch, options);
  }
}
