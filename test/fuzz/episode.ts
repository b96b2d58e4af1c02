/**
 * What the fuzzer plays: a replica of the webhook over one core, and steps that reach it from outside. All of it is
 * JSON, so that a failure can be kept, made smaller, and put into the corpus. A review and a PodProtector are an input
 * each.
 */
import { type KubeErrorKind } from "../../src/kube/kube-client.ts";

export interface Episode {
  readonly settings: EpisodeSettings;
  readonly protectors: readonly GivenProtector[];
  /** What the worker cluster answers to a GET of a pod, by name; else 404. */
  readonly pods: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export interface EpisodeSettings {
  readonly dryRun?: boolean;
  /** Lend the last known quota while the core takes no writes. */
  readonly lends?: boolean;
  readonly hasWorker?: boolean;
  readonly isUnsynced?: boolean;
  readonly pathPrefix?: string;
  readonly allowedCells?: readonly string[];
  readonly compactThreshold?: number;
  readonly requiresPodName?: boolean;
  readonly latencyMs?: number;
}

export interface GivenProtector {
  /** JSON. */
  readonly text: string;
  /** Well-formed, and no step touches it: its rules are checked on every answer. */
  readonly isSteady: boolean;
}

export type Step =
  | ReviewStep
  /** Somebody writes this PodProtector into the core, or creates it. */
  | { readonly type: "object"; readonly text: string }
  | { readonly type: "remove"; readonly key: string }
  /** The watch delivers what has changed. */
  | { readonly type: "deliver" }
  /** What the core does with its next request. */
  | { readonly type: "fault"; readonly fault: Fault }
  | { readonly type: "wait"; readonly ms: number }
  /** Waits until all reviews are answered. */
  | { readonly type: "settle" };

export interface ReviewStep {
  readonly type: "review";
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The bytes of the body are in base64. */
  readonly isBase64?: boolean;
  /** As from a listener, with Node's stream beside the Request; else the Request alone. */
  readonly isSocket: boolean;
  /** The client breaks off in the middle of the body. */
  readonly breaksOff?: boolean;
  /** The client goes away so many milliseconds after it has sent the review. */
  readonly leavesAfterMs?: number;
}

export type Fault =
  | { readonly kind: "refuse"; readonly error: KubeErrorKind; readonly retryAfterMs?: number }
  /** It takes effect, but the answer is lost. */
  | { readonly kind: "loseAnswer"; readonly error: KubeErrorKind }
  /** It takes effect, but this is the answer. Not for steady PodProtectors, whose core does not lie. */
  | { readonly kind: "answer"; readonly text: string };

/** How many inputs the episode holds. */
export function inputsOf({ protectors, steps }: Episode): number {
  return protectors.length + steps.filter(({ type }) => type === "review" || type === "object").length;
}
