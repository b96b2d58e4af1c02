/**
 * Nodes whose objects are gone, and how long their pods have been kept from pod garbage collection
 * (docs/system-deletions.md#node-objects-that-are-gone). A node that died shortly before its object vanished leaves
 * pods that look Ready for ever: kubelet cannot say otherwise, and the node controller looks after no node without an
 * object. So the guard lets go of a node when it has been asked about, again and again, for some time. That is time for
 * a person to register a living one again. Nobody asks about a node that is registered, so a pause in the questions
 * ends that time, and the next loss begins it anew; also a pause in which the replica itself was suspended, when only
 * the wall clock goes on. Each replica knows of its own refusals only, and forgets them when
 * it stops: late, never early.
 *
 * Whoever reaches the webhook can ask about a node whose object is there, long before it is lost. So the time of a node
 * begins for each address anew, unless client certificates tell who asks.
 */
import { type Clock, type EpochMicros, givenMs, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { printable } from "../../util/printable.ts";
import { type Refused } from "./decision.ts";
import { ageText } from "./refusals/silence-text.ts";

/**
 * As many as Kubernetes supports in one cluster, about a megabyte. Beyond it the address with most of them forgets the
 * one that was refused first, so that its time starts again.
 */
const nodesMax = 5_000;

/**
 * For each replica. The collector asks at least once a minute, and the API server asks any of the replicas, so each is
 * asked every so many minutes as there are replicas. One that is not asked for five times as long may take the node for
 * registered again. By chance that happens to one of three once in 22 hours: its time is longer then.
 */
const pauseMs = 5 * 60_000;

interface LostNode {
  readonly sinceMs: MonotonicMs;
  lastMs: MonotonicMs;
  lastMicros: EpochMicros;
  hasLetGo: boolean;
}

export interface LostNodesOptions {
  /** --orphaned-pod-grace: since the first refusal after the last pause. */
  readonly orphanedPodGraceMs: number;
  /** Webhooks that share the questions. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LostNodes {
  readonly #options: LostNodesOptions;
  /** By address ("" = all that are identified), then by cell and name, the one that was refused first in front. */
  readonly #nodes = new Map<string, Map<string, LostNode>>();

  constructor(options: LostNodesOptions) {
    this.#options = options;
  }

  /**
   * The end of one of its pods is to be refused. Returns for how many milliseconds more; 0 = it is let go. `peer`: the
   * address that asks; undefined = a client certificate tells who it is.
   */
  refused(cellID: string, name: string, peer = ""): number {
    const { clock, logger, orphanedPodGraceMs: graceMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const node = this.#known(cellID, name, peer, nowMs) ?? this.#first(cellID, name, peer, nowMs);
    node.lastMs = nowMs;
    node.lastMicros = clock.epochMicros();
    const leftMs = Math.max(0, graceMs - (nowMs - node.sinceMs));
    if (leftMs === 0 && !node.hasLetGo) {
      node.hasLetGo = true;
      logger.warn("Letting pod garbage collection end pods whose Node object is gone", {
        cell: cellID,
        node: printable(name),
        graceMs,
      });
    }
    return leftMs;
  }

  #known(cellID: string, name: string, peer: string, nowMs: MonotonicMs): LostNode | undefined {
    const node = this.#nodes.get(peer)?.get(idOf(cellID, name));
    if (node === undefined) return undefined;
    const { clock, replicas } = this.#options;
    const pausedMs = Math.max(nowMs - node.lastMs, (clock.epochMicros() - node.lastMicros) / 1000);
    return pausedMs <= givenMs(clock, pauseMs) * replicas ? node : undefined;
  }

  #first(cellID: string, name: string, peer: string, nowMs: MonotonicMs): LostNode {
    const { clock, logger, orphanedPodGraceMs: graceMs } = this.#options;
    if (graceMs > 0)
      logger.warn("Refusing pod garbage collection of pods whose Node object is gone", {
        cell: cellID,
        node: printable(name),
        graceMs,
      });
    const node = { sinceMs: nowMs, lastMs: nowMs, lastMicros: clock.epochMicros(), hasLetGo: false };
    const nodes = this.#nodes.get(peer) ?? new Map<string, LostNode>();
    this.#nodes.set(peer, nodes);
    nodes.delete(idOf(cellID, name));
    nodes.set(idOf(cellID, name), node);
    this.#makeRoom();
    return node;
  }

  #makeRoom(): void {
    let sum = 0;
    let largest = { peer: "", size: 0 };
    for (const [peer, { size }] of this.#nodes) {
      sum += size;
      if (size > largest.size) largest = { peer, size };
    }
    const nodes = this.#nodes.get(largest.peer);
    if (sum <= nodesMax || nodes === undefined) return;
    const [oldest] = nodes.keys();
    if (oldest !== undefined) nodes.delete(oldest);
    if (nodes.size === 0) this.#nodes.delete(largest.peer);
  }
}

/** Names of cells have no slash. */
function idOf(cellID: string, name: string): string {
  return `${cellID}/${name}`;
}

/** `Node object "node-1"`, for messages. */
export function lostNodeText(name: string): string {
  return name === "" ? "Node object" : `Node object ${printable(JSON.stringify(name))}`;
}

/** The refusal with what it is due to and what a person can do, and for how long there is time. */
export function withLostNode(refused: Refused, name: string, leftMs: number): Refused {
  const message =
    `${refused.message}. The ${lostNodeText(name)} of the pod is gone, so pod garbage collection ends its pods. ` +
    "If the node is alive, register it again by restarting its kubelet; " +
    `else nothing needs to be done: its pods are let go in ${ageText(leftMs)}`;
  return { ...refused, message, audit: { ...refused.audit, "lost-node": printable(name) } };
}
