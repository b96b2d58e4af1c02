/** Numbers of pods and percentages of them, as docs/generator.md#floors has them. Shares nothing with the product. */
import { asString } from "../../../double/engine/object.ts";

/** The flags of a world's generators. */
export interface SourceRules {
  readonly percentRounding: string;
  readonly singleReplica: string;
  /** A terminating Deployment keeps its PodProtector while it wants replicas. No other kind does. */
  readonly protectsNonZero: boolean;
}

/** Of how many pods in a hundred, or how many pods. */
export type Share = { readonly percent: bigint } | { readonly pods: number };

/** What its owner lets go. */
export function mayGo(share: Share, replicas: number, { percentRounding, singleReplica }: SourceRules): number {
  if ("pods" in share) return share.pods;
  if (share.percent === 0n) return 0;
  if (replicas === 1 && singleReplica === "protected") return share.percent < 100n ? 0 : 1;
  const rounded = percentRounding === "up" ? up(share, replicas) : down(share, replicas);
  return percentRounding === "at-least-one" && rounded === 0 ? 1 : rounded;
}

/** What is neither a number nor a percentage counts as no pod. */
export function shareOf(value: unknown): Share {
  if (typeof value === "number") return { pods: value > 0 ? value : 0 };
  const text = asString(value) ?? "";
  const isPercentage = /^[0-9]+%$/.test(text);
  return isPercentage ? { percent: BigInt(text.slice(0, -1)) } : { pods: 0 };
}

/** Whole numbers only, so that nothing is lost in fractions. */
export function down(share: Share, replicas: number): number {
  if ("pods" in share) return share.pods;
  return Number((share.percent * BigInt(replicas)) / 100n);
}

export function up(share: Share, replicas: number): number {
  if ("pods" in share) return share.pods;
  return Number((share.percent * BigInt(replicas) + 99n) / 100n);
}
