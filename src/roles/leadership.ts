/** The leader election of a role, with its readiness check, and work that several terms share. */
import { type ElectorConfig } from "../config/election.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createIdentity, Elector } from "../kube/leader-election/index.ts";
import { type Logger } from "../util/logger.ts";
import { type Runtime } from "./runtime.ts";

export interface RoleElection {
  readonly role: "aggregator" | "generator";
  readonly config: ElectorConfig;
  /** The cluster that holds the Lease. */
  readonly clusterClass: "core" | "worker";
  /** The client of that cluster for elections. */
  readonly client: KubeClient;
  readonly logger: Logger;
}

/** Registers upstream's check `<role>-leader-elector/elector`; like upstream, not when the election is disabled. */
export function createElector(runtime: Runtime, { role, ...election }: RoleElection): Elector {
  const { clock, rng, metrics, health } = runtime;
  const elector = new Elector({ ...election, electorName: role, identity: createIdentity(rng), clock, rng, metrics });
  if (election.config.enable) health.register(`${role}-leader-elector/elector`, () => elector.check());
  return elector;
}

/** Work that several terms share: it runs once while at least one of them lasts. */
export class SharedWork {
  readonly #run: (signal: AbortSignal) => Promise<void>;
  #terms = 0;
  #ended: Promise<void> = Promise.resolve();
  #current: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;

  /** `run` must resolve soon after its signal aborts. */
  constructor(run: (signal: AbortSignal) => Promise<void>) {
    this.#run = run;
  }

  /**
   * Resolves when `term` has aborted and, if it was the last one, the work has ended. Rejects with what the work
   * rejects with.
   */
  async during(term: AbortSignal): Promise<void> {
    if (term.aborted) return;
    this.#terms += 1;
    const work = (this.#current ??= this.#start());
    const over = Promise.withResolvers<void>();
    term.addEventListener(
      "abort",
      () => {
        this.#terms -= 1;
        if (this.#terms === 0) {
          this.#current = undefined;
          work.abort.abort();
        }
        over.resolve();
      },
      { once: true },
    );
    await Promise.race([over.promise, work.ended.then(() => over.promise)]);
    if (work.abort.signal.aborted) await work.ended;
  }

  #start(): { readonly abort: AbortController; readonly ended: Promise<void> } {
    const abort = new AbortController();
    // Never beside what is still ending of the last terms.
    this.#ended = this.#ended.then(async () => {
      if (!abort.signal.aborted) await this.#run(abort.signal);
    });
    return { abort, ended: this.#ended };
  }
}
