/**
 * Reviews that no API server should send: of a webhook configuration that asks about too much, of a proxy that drops or
 * garbles fields, of a cell that nobody knows. They name nothing that is checked, and the webhooks must survive them
 * and go on.
 */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { randomUuid } from "../../../double/engine/identity.ts";
import { asObject, type JsonObject } from "../../../double/engine/object.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { type SimProcess } from "../../processes/process.ts";
import { sideNamespace } from "../../clusters/namespaces.ts";
import { type World } from "../../world.ts";
import { type Rng } from "../../../../src/util/rng.ts";
import { Draws } from "../../../support/draws.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "odd", namespace: sideNamespace } };
const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "odd", namespace: sideNamespace } };
const ofEviction = { operation: "CREATE", subResource: "eviction" };

export class OddReviews {
  readonly #world: World;
  readonly #rng: Rng;
  readonly #draws: Draws;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.kernel.rng("odd reviews");
    this.#draws = new Draws(this.#rng);
  }

  async send(to: SimProcess | undefined): Promise<void> {
    const fetch = to?.fetch();
    if (fetch === undefined) return;
    const cell = this.#draws.oneOf("nowhere", "not%20a%20cell", ...this.#world.cells.map(({ name }) => name));
    const request = {
      uid: randomUuid(this.#rng),
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      operation: "DELETE",
      name: "odd",
      namespace: sideNamespace,
      userInfo: { username: "somebody" },
      ...this.#oddity(),
    };
    const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
    const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
    const timeout = this.#draws.oneOf("10s", "10s", "1s", "1ms", "0s");
    await fetch(
      new Request(`http://webhook/${cell}?timeout=${timeout}`, { method: "POST", headers, body }),
      {} as never,
    );
  }

  #oddity(): JsonObject {
    const present = this.#world.cells.flatMap(
      ({ server }) => server.engine.list(builtInResources.pods, sideNamespace).items,
    );
    const terminating = present.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const podOfSide = this.#draws.pickAny(terminating.length > 0 && this.#draws.chance(0.3) ? terminating : present);
    const name = podOfSide?.metadata.name ?? "odd";
    return this.#draws.oneOf<JsonObject>(
      { resource: { group: "apps", version: "v1", resource: "deployments" } },
      { operation: "UPDATE", oldObject: podOfSide ?? null, object: podOfSide ?? null },
      { operation: "CREATE", subResource: "binding", object: {} },
      {},
      { oldObject: null },
      { oldObject: pod },
      { oldObject: withForce({}) },
      { oldObject: podOfSide ?? pod, dryRun: true },
      // Of pods that are to be deleted whatever it costs.
      { oldObject: withForce(podOfSide ?? pod) },
      { oldObject: withForce(podOfSide ?? pod) },
      { ...ofEviction, object: withForce(eviction), name },
      { ...ofEviction },
      { ...ofEviction, object: null },
      { ...ofEviction, object: eviction, name: "../secrets" },
      { ...ofEviction, object: eviction },
      { ...ofEviction, object: eviction, name },
      { ...ofEviction, object: { ...eviction, deleteOptions: { dryRun: ["All"] } }, name },
      { ...ofEviction, object: { ...eviction, deleteOptions: { dryRun: [] } }, name },
    );
  }
}

function withForce(object: JsonObject): JsonObject {
  const metadata = asObject(object["metadata"]);
  return { ...object, metadata: { ...metadata, annotations: { [annotations.forceDelete]: "1" } } };
}
