/** A worker cluster, of which the pods of evictions are read. */
import { KubeError, type KubeClient, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { type Json } from "./objects.ts";

/** What a GET is answered with; undefined = 404. */
type State = Json | undefined | ((request: KubeRequest) => unknown);

export class FakeWorker implements KubeClient {
  readonly cluster = "worker";
  readonly requests: KubeRequest[] = [];
  readonly #states: readonly State[];

  /** Answers each GET with the next state; the last one stays. */
  constructor(...states: readonly State[]) {
    this.#states = states;
  }

  async request(request: KubeRequest): Promise<unknown> {
    this.requests.push(request);
    const state = this.#states[Math.min(this.requests.length, this.#states.length) - 1];
    if (typeof state === "function") return state(request);
    if (state !== undefined) return state;
    throw new KubeError("notFound", "GET: 404", { code: 404, status: { message: 'pods "p" not found' } });
  }

  stream(): Promise<never> {
    return Promise.reject(new KubeError("serverError", "no watches here"));
  }

  async close(): Promise<void> {}
}

/** The webhook's option that has the worker of all cells. */
export function workerOf(...states: readonly State[]) {
  return { workers: { kind: "single", client: new FakeWorker(...states) } } as const;
}
