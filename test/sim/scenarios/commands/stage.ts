/** What a scenario plays on: one small world without any chance in it, and the hands of its stage-manager. */
import { isApiError } from "../../../double/index.ts";
import { ApiError } from "../../../double/engine/status.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { type Backup } from "../../../double/engine/store.ts";
import { type RestRequest } from "../../../double/rest/rest.ts";
import { type SimApiServer } from "../../clusters/api-server.ts";
import { type ServerFault } from "../../clusters/conditions.ts";
import { type AccountingChecker } from "../../checkers/accounting/accounting.ts";
import { type Core } from "../../core.ts";
import { type Plan } from "../../plan.ts";
import { type SimProcess } from "../../processes/process.ts";
import { firstCore } from "../../clusters/core-names.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { World } from "../../world.ts";
import { type Arguments } from "./arguments.ts";
import { Pods } from "./pods.ts";

export interface StageOptions {
  readonly algorithm: string;
  readonly plan: Pick<
    Plan,
    | "cells"
    | "minReadySeconds"
    | "webhooks"
    | "aggregatorsPerCell"
    | "offersWatchList"
    | "updateTrigger"
    | "hasGenerator"
    | "compactThreshold"
    | "silentAfterMs"
    | "faults"
    | "protectsNonZero"
    | "otherCore"
    | "hourMs"
  >;
  /** The PodProtector that the scenario is about. */
  readonly protector: string;
}

/** A request that is to go wrong. */
export interface PlannedFault {
  readonly fault: ServerFault;
  /** "watch", "list", "barrier" or a method in lower case. */
  readonly kind: string;
  /** End of the path. */
  readonly resource: string;
  readonly by: string | undefined;
  left: number;
}

/** A command: returns the outcome, when it has one. Throws what is wrong with the scenario, or what does not hold. */
export type Run = (stage: Stage, args: Arguments) => Promise<string | void>;

/** What a DELETE or eviction meets after its admission. */
export type Fate = "none" | "hold" | "dropped";

/** Time for anything that is waited for: longer than a review and its retries take. */
const patienceMs = 60_000;
/** What a dropped deletion is answered. */
const otherPolicy = "another policy refuses";
/** A request to delete takes at most so long (docs/kubernetes.md#timeouts). */
const requestLifeMs = 34_000;
/** API requests of the product that scenarios count. */
export type Counted = "fences" | "barriers" | "writes";

interface Held {
  readonly sinceMs: number;
  /** Lets the commit go on. */
  readonly resume: (isAlive: boolean) => void;
  readonly outcome: Promise<string>;
}

export class Stage {
  readonly world: World;
  readonly pods: ReadonlyMap<string, Pods>;
  /** That the scenario is about. */
  readonly protector: string;
  readonly #faults = new Map<SimApiServer, PlannedFault[]>();
  /** Answers that nobody waits for yet, by pod. */
  readonly #asked = new Map<string, Promise<string>>();
  readonly #fates = new Map<string, Exclude<Fate, "none">>();
  readonly #held = new Map<string, Held>();
  readonly #arrived = new Map<string, (held: (outcome: Promise<string>) => void) => void>();
  readonly #backups = new Map<string, Backup>();
  readonly counters = new Map<Counted, number>();
  /** That the commands are about. */
  core: Core;
  /** Of Deployment web, when somebody makes it. */
  replicas = 0;
  /** Of the checkers: the scenario goes on after each. */
  readonly findings: string[] = [];

  constructor({ algorithm, plan, protector }: StageOptions) {
    this.protector = protector;
    const noChance: Plan = {
      ...plan,
      podsPerCell: 0,
      minAvailable: 0,
      hasSecondProtector: false,
      hasMoreSources: false,
      percentRounding: "at-least-one",
      singleReplica: "drainable",
      hasRichSelectors: false,
      evictedPods: "map",
      recordsPodNames: false,
      maxConcurrentLag: 0,
      hasSmallLimits: false,
      servesProtobuf: true,
      criterion: "Available",
      loss: "none",
      upgrade: "none",
      otherMinAvailable: 0,
      lostCore: firstCore,
      forbidsHeartbeats: false,
      servesOnlyItsCells: false,
      cellsBy: "cluster",
      deletionsPerSecond: 0,
      chaosMs: 0,
      severity: () => 0,
      rates: {},
    };
    this.world = new World({ seed: 1, plan: noChance, algorithm });
    this.core = this.world.core;
    this.world.kernel.fail = (finding) => void this.findings.push(`checker: ${finding}`);
    this.pods = new Map(this.world.cells.map((cell) => [cell.name, new Pods(cell)]));
    for (const { server } of [...this.world.cores, ...this.world.cells]) {
      server.conditions.script = (request) => this.#faultOf(server, request);
    }
    for (const { name, server } of this.world.cells) {
      server.conditions.holdCommit = (type, key) =>
        type === builtInResources.pods ? this.#fateOf(`${name}/${key.slice(namespace.length + 1)}`) : undefined;
    }
  }

  /** The next word as CELL/NAME; without a cell the first one is meant. */
  podOf(args: Arguments): { readonly id: string; readonly name: string; readonly cell: string; readonly pods: Pods } {
    const word = args.word("the pod");
    const [cell = "", name = ""] = word.includes("/") ? word.split("/") : [this.world.cells[0]?.name, word];
    const pods = this.pods.get(cell);
    if (pods === undefined) throw args.error(`there is no cell ${cell}`);
    return { id: `${cell}/${name}`, name, cell, pods };
  }

  /** Time passes until the work is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    const { kernel } = this.world;
    let isDone = false;
    const tracked = work.finally(() => (isDone = true));
    // Its failure is seen where it is awaited.
    tracked.catch(() => {});
    await kernel.run(kernel.nowMs + patienceMs, () => isDone);
    if (!isDone) throw new Error(kernel.failure?.message ?? "this should take moments, but does not end");
    return await tracked;
  }

  /** Of the PodProtector that the scenario is about, in the core that is meant; undefined while it does not exist. */
  get checker(): AccountingChecker | undefined {
    return this.core.checkers.get(this.protector);
  }

  async advance(ms: number): Promise<void> {
    await this.world.kernel.run(this.world.kernel.nowMs + ms);
  }

  lag(server: string, ms: number): void {
    this.server(server).conditions.watchLagMs = ms;
  }

  server(name: string): SimApiServer {
    return this.world.cores.find(({ node }) => node.name === name)?.server ?? this.world.cell(name).server;
  }

  process(name: string): SimProcess {
    const process = this.world.processes().find((one) => one.name === name);
    if (process === undefined) throw new Error(`no process is called ${name}`);
    return process;
  }

  /** Asks for a deletion; `pod` = CELL/NAME. Resolves to what came of it, or to "held". */
  async ask(
    pod: string,
    fate: Fate,
    act: (server: SimApiServer, name: string, caller: { username: string; groups: string[] }) => Promise<unknown>,
    waits = true,
  ): Promise<string> {
    const [cell = "", name = ""] = pod.split("/");
    const { ledger, totals } = this.world;
    const operation = ledger.begin(cell);
    totals.deletions += 1;
    if (fate !== "none") this.#fates.set(pod, fate);
    const outcome = act(this.server(cell), name, { username: operation.id, groups: ["system:authenticated"] })
      .then(() => "allowed", outcomeOf)
      .finally(() => {
        ledger.end(operation);
        this.#fates.delete(pod);
      });
    const answer = this.#orHeld(pod, outcome);
    return waits ? await this.during(answer) : this.later(pod, answer);
  }

  /** The outcome is asked for later. */
  later(pod: string, answer: Promise<string>): string {
    this.#asked.set(pod, answer);
    return "asked";
  }

  /** The outcome of what was asked for without waiting. */
  async answer(pod: string): Promise<string> {
    const answer = this.#asked.get(pod);
    if (answer === undefined) throw new Error(`nobody waits for the deletion of ${pod}`);
    this.#asked.delete(pod);
    return await this.during(answer);
  }

  /**
   * Lets a held commit go on; with "hold" the next attempt of the same request is held as well. Resolves to what came
   * of it.
   */
  async release(pod: string, fate: Fate): Promise<string> {
    const held = this.#held.get(pod);
    if (held === undefined) throw new Error(`${pod} is not held`);
    this.#held.delete(pod);
    if (fate !== "none") this.#fates.set(pod, fate);
    held.resume(this.world.kernel.nowMs - held.sinceMs < requestLifeMs);
    const outcome = await this.during(this.#orHeld(pod, held.outcome));
    return outcome === "allowed" ? "committed" : outcome;
  }

  /** The outcome, or "held" as soon as the commit is. */
  async #orHeld(pod: string, outcome: Promise<string>): Promise<string> {
    const arrived = new Promise<string>((resolve) => {
      this.#arrived.set(pod, (take) => {
        take(outcome);
        resolve("held");
      });
    });
    return await Promise.race([outcome, arrived]);
  }

  /** A commit on a pod's object is due: that of a deletion with a fate, or another one. */
  #fateOf(pod: string): Promise<boolean> | undefined {
    const fate = this.#fates.get(pod);
    if (fate === undefined) return undefined;
    this.#fates.delete(pod);
    if (fate === "dropped") return Promise.reject(new ApiError(403, "Forbidden", otherPolicy));
    return new Promise((resume) => {
      const sinceMs = this.world.kernel.nowMs;
      this.#arrived.get(pod)?.((outcome) => this.#held.set(pod, { sinceMs, resume, outcome }));
    });
  }

  addFault(server: SimApiServer, fault: PlannedFault): void {
    this.#faults.set(server, [...(this.#faults.get(server) ?? []), fault]);
  }

  #faultOf(server: SimApiServer, request: RestRequest): ServerFault | undefined {
    this.#countRequest(request);
    const kind = kindOf(request);
    const planned = this.#faults
      .get(server)
      ?.find(
        ({ left, by, resource, ...fault }) =>
          left > 0 &&
          fault.kind === kind &&
          (resource.endsWith("/") ? request.path.includes(resource) : request.path.endsWith(resource)) &&
          (by ?? request.userAgent) === request.userAgent,
      );
    if (planned === undefined) return undefined;
    planned.left -= 1;
    return planned.fault;
  }

  #countRequest(request: RestRequest): void {
    const { path } = request;
    const kind = kindOf(request);
    const counted: Counted | undefined =
      kind === "patch" && path.includes("/pods/") && path.endsWith("/status")
        ? "fences"
        : kind === "barrier" && path.endsWith("/pods")
          ? "barriers"
          : kind === "put" && path.includes("/podprotectors/") && request.userAgent.startsWith("aggregator")
            ? "writes"
            : undefined;
    if (counted !== undefined) this.counters.set(counted, (this.counters.get(counted) ?? 0) + 1);
  }

  backUp(name: string): void {
    this.#backups.set(name, this.server(name).engine.backup());
  }

  restore(name: string, gracefully: boolean): void {
    const backup = this.#backups.get(name);
    if (backup === undefined) throw new Error(`there is no backup of ${name}`);
    this.server(name).restore(backup, gracefully);
    const core = this.world.cores.find(({ node }) => node.name === name);
    if (core !== undefined) core.restored();
    else this.world.ledger.restored(name, this.server(name));
  }
}

function kindOf({ method, path, query }: RestRequest): string {
  if (query.get("watch") === "true") return "watch";
  if (method !== "GET" || !/\/(pods|podprotectors)$/.test(path)) return method.toLowerCase();
  return query.get("limit") === "1" ? "barrier" : "list";
}

/** What became of a request that failed with this error. */
export function outcomeOf(error: unknown): string {
  if (!isApiError(error)) throw error;
  const { code, details } = error.status;
  if (error.message === otherPolicy) return "dropped";
  if (code === 504) return "over";
  return code === 404 ? "gone" : `refused: ${error.message} ${JSON.stringify(details?.causes ?? [])}`;
}
