/**
 * How far each client has been told of the PodProtectors: a replica that does not know of one yet cannot enforce it
 * (docs/accounting.md#the-promise).
 */
import { asObject } from "../../double/engine/object.ts";
import { type WatchEvent } from "../../double/engine/requests/watch.ts";
import { type RestRequest } from "../../double/rest/rest.ts";
import { type Kernel } from "../kernel/kernel.ts";

interface Delivery {
  readonly revision: number;
  readonly atMs: number;
}

/** When something became what it is. */
export interface Edit {
  readonly revision: number;
  readonly sinceMs: number;
}

/** A review takes seconds; older deliveries tell nothing more. */
const kept = 2_000;

function isOfProtectors({ method, path }: RestRequest): boolean {
  return method === "GET" && path.endsWith("/podprotectors");
}

export class Deliveries {
  readonly #kernel: Kernel;
  readonly #byClient = new Map<string, Delivery[]>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Takes the events of one watch as they arrive; undefined for other resources. */
  reader(request: RestRequest): ((event: WatchEvent) => void) | undefined {
    if (!isOfProtectors(request)) return undefined;
    // The initial events count when all of them are there.
    let isInitial = request.query.get("sendInitialEvents") === "true";
    return (event) => {
      if (event.type === "ERROR") return;
      const metadata = asObject(asObject(event.object)["metadata"]);
      if (event.type === "BOOKMARK" && asObject(metadata["annotations"])["k8s.io/initial-events-end"] === "true") {
        isInitial = false;
      }
      if (!isInitial) this.#add(request.userAgent, Number(metadata["resourceVersion"]));
    };
  }

  /** What to call when the last page of a list has arrived. */
  ofList(request: RestRequest, text: string): (() => void) | undefined {
    // Of one object it is a barrier: it asks how far the server is, and nobody looks at the object.
    if (!isOfProtectors(request) || request.query.get("limit") === "1") return undefined;
    const metadata = asObject(asObject(JSON.parse(text))["metadata"]);
    if ((metadata["continue"] ?? "") !== "") return undefined;
    return () => this.#add(request.userAgent, Number(metadata["resourceVersion"]));
  }

  /**
   * True when the client knew of that revision at that moment, and has been told since `sinceMs`: a restore brings old
   * revisions back.
   */
  knew(client: string, { revision, sinceMs }: Edit, atMs: number): boolean {
    const newest = this.#byClient.get(client)?.findLast((delivery) => delivery.atMs < atMs);
    return newest !== undefined && newest.revision >= revision && newest.atMs >= sinceMs;
  }

  #add(client: string, revision: number): void {
    let deliveries = this.#byClient.get(client);
    if (deliveries === undefined) this.#byClient.set(client, (deliveries = []));
    deliveries.push({ revision, atMs: this.#kernel.nowMs });
    if (deliveries.length > 2 * kept) deliveries.splice(0, kept);
  }
}
