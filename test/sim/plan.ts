/**
 * What the seed of a world decides: its size, what its people do, and what goes wrong how often. Everything else
 * follows by running it.
 */
import { healthCriteria, type HealthCriterion } from "../../src/accounting/count/health-criterion.ts";
import { type Rng, uniform } from "../../src/util/rng.ts";
import { firstCore, secondCore } from "./clusters/core-names.ts";
import { type Rates } from "./clusters/conditions.ts";
import {
  drawnAfterAll,
  drawnFirst,
  drawnLast,
  type FaultClass,
  lateFaults,
  latest,
  longOnes,
  modes,
  newest,
  onDemand,
} from "./fault-classes.ts";

/** What is lost for ever at some time (actors/strikes/losses.ts). */
const losses = [
  "cell",
  "webhook",
  "aggregator",
  "fences",
  "writes of a webhook",
  "writes of a cell",
  "core",
  "writes of the core",
] as const;
export type Loss = (typeof losses)[number] | "none";

/** Process after process is replaced (actors/strikes/upgrades.ts): by this release, or back by the previous. */
export type Upgrade = "none" | "forward" | "back";
/** Counted where the previous release was not at hand. */
export const upgradesLeftOut = "upgrades left out";

/** How webhooks and aggregators know which pods are those of a cell (docs/cells.md). */
export type CellsBy = "cluster" | "namespace" | "label";

/** What webhooks do while the second core is away; "none" = there is only one core. */
export type OtherCore = "none" | "refuse" | "last-known";

export interface Plan {
  readonly cells: readonly string[];
  readonly podsPerCell: number;
  readonly minAvailable: number;
  readonly minReadySeconds: number;
  readonly webhooks: number;
  readonly aggregatorsPerCell: number;
  /** A generator makes the PodProtector from a Deployment; else a person has written it. */
  readonly hasGenerator: boolean;
  /** How generators round percentages, and what the only replica of a Deployment is worth. */
  readonly percentRounding: string;
  readonly singleReplica: string;
  /** A terminating Deployment keeps its PodProtector while it wants replicas. */
  readonly protectsNonZero: boolean;
  /** Sources of custom kinds, budgets, hand-made PodProtectors that follow workloads, and overrides. */
  readonly hasMoreSources: boolean;
  /** A second PodProtector selects the same pods. */
  readonly hasSecondProtector: boolean;
  readonly offersWatchList: boolean;
  /** API servers answer pods in protobuf, as real ones do; else a proxy between allows JSON only. */
  readonly servesProtobuf: boolean;
  readonly updateTrigger: boolean;
  readonly compactThreshold: number;
  /** Histories and queues are full soon (processes/small-limits.ts). */
  readonly hasSmallLimits: boolean;
  /** Selectors are written in an unusual way. */
  readonly hasRichSelectors: boolean;
  /** How the webhook finds the pod of an eviction. */
  readonly evictedPods: string;
  /** The webhook writes names of pods. */
  readonly recordsPodNames: boolean;
  /** Most unsettled admissions of a PodProtector; 0 = no limit. */
  readonly maxConcurrentLag: number;
  /** By which all pods of the workload ask to be judged. */
  readonly criterion: HealthCriterion;
  /** Deletions asked for, per second. */
  readonly deletionsPerSecond: number;
  readonly chaosMs: number;
  readonly loss: Loss;
  readonly upgrade: Upgrade;
  readonly otherCore: OtherCore;
  /** Of the PodProtector in the second core, which has the name of that in the first. */
  readonly otherMinAvailable: number;
  /** The core that is lost, if one is. */
  readonly lostCore: string;
  /** What only heartbeats need is forbidden, as it is to the accounts of upstream's chart. */
  readonly forbidsHeartbeats: boolean;
  /** The webhooks serve the cells of the world and no others. */
  readonly servesOnlyItsCells: boolean;
  /** --silent-cell-after: often short, so that a lost cell is silent while things still happen. */
  readonly silentAfterMs: number;
  /** How long an hour is for rules that give people time (src/util/clock.ts). */
  readonly hourMs: number;
  readonly cellsBy: CellsBy;
  readonly faults: ReadonlySet<FaultClass>;
  /** How often each fault class strikes, relative to its usual rate: orders of magnitude apart. */
  readonly severity: (faultClass: FaultClass) => number;
  /** Rates of the API servers during the chaos. */
  readonly rates: Partial<Rates>;
}

type Size = Pick<Plan, "cells" | "podsPerCell" | "webhooks">;
type Paced = Pick<Plan, "chaosMs" | "deletionsPerSecond">;

const cellNames = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
const podsPerCellMax = 200;
const webhooksMax = 12;
/** Of all cells together: few worlds have more, because they cost as much as dozens of others. */
const manyPods = 50;
const manyPodsShare = 0.04;
const manyCellsShare = 0.04;
const manyWebhooksShare = 0.08;
const fewRightsShare = 0.05;
const twoCoresShare = 0.15;
/** Of the worlds with a generator. */
const moreSourcesShare = 0.5;

function integer(rng: Rng, low: number, high: number): number {
  return low + Math.floor(rng.next() * (high - low + 1));
}

/** 10 to the power of something between `low` and `high`. */
function magnitude(rng: Rng, low: number, high: number): number {
  return 10 ** uniform(rng, low, high);
}

/** `only` = these fault classes instead of those that the seed draws. */
export function drawPlan(rng: Rng, only?: ReadonlySet<FaultClass>): Plan {
  const cells = cellNames.slice(0, integer(rng, 1, 3));
  const podsPerCell = integer(rng, 2, 10);
  const share = uniform(rng, 0.05, 0.8);
  const drawn = new Set<FaultClass>(drawnFirst.filter(() => rng.next() < share));
  const faults = new Set(only ?? drawn);
  const severities = new Map<FaultClass, number>(
    [...drawnFirst, "restores" as const].map((name) => [name, magnitude(rng, -1, 0.5)] as const),
  );
  const severity = (name: FaultClass): number => (faults.has(name) ? (severities.get(name) ?? 0) : 0);
  const scaled = (name: FaultClass, usual: number): number => Math.min(0.5, usual * severity(name));
  const { floorShare, ...plan } = {
    cells,
    podsPerCell,
    floorShare: uniform(rng, 0.3, 1),
    minReadySeconds: rng.next() < 0.6 ? 0 : integer(rng, 1, 30),
    webhooks: integer(rng, 1, 3),
    aggregatorsPerCell: integer(rng, 1, 2),
    hasGenerator: rng.next() < 0.3,
    hasSecondProtector: rng.next() < 0.25,
    offersWatchList: rng.next() < 0.7,
    updateTrigger: rng.next() < 0.5,
    compactThreshold: rng.next() < 0.5 ? integer(rng, 1, 5) : 100,
    deletionsPerSecond: magnitude(rng, -0.5, 1.3),
    chaosMs: uniform(rng, 60_000, 240_000),
    faults,
    severity,
    rates: {
      serverError: scaled("server-errors", 0.02),
      tooManyRequests: scaled("server-errors", 0.01),
      stall: scaled("server-errors", 0.005),
      slowAnswer: scaled("latency", 0.1),
      queued: scaled("latency", 0.02),
      conflict: scaled("conflicts", 0.1),
      loseResponse: scaled("lost-responses", 0.05),
      brokenWatch: scaled("broken-watches", 0.3),
      silentWatch: scaled("broken-watches", 0.05),
      duplicate: scaled("broken-watches", 0.2),
      historyLoss: scaled("broken-watches", 0.1),
      staleList: scaled("stale-lists", 0.5),
      stalledCommit: scaled("stalled-commits", 0.02),
      stalledCommitMs: 30_000,
      staleReview: scaled("stale-reviews", 0.3),
    },
  };
  const drawSeverity = (name: FaultClass): void => {
    severities.set(name, magnitude(rng, -1, 0.5));
    if (rng.next() < share && only === undefined && lateFaults.has(name)) faults.add(name);
  };
  for (const name of [...drawnLast, ...onDemand]) if (!severities.has(name)) drawSeverity(name);
  const late = {
    hasRichSelectors: rng.next() < 0.3,
    evictedPods: rng.next() < 0.9 ? "map" : rng.next() < 0.5 ? "single" : "none",
    recordsPodNames: rng.next() < 0.2,
    maxConcurrentLag: rng.next() < 0.15 ? integer(rng, 1, 4) : 0,
    criterion: rng.next() < 0.8 ? "Available" : (healthCriteria[integer(rng, 0, 3)] ?? "Available"),
  };
  for (const name of newest) drawSeverity(name);
  const lost = faults.has("losses") ? losses[integer(rng, 0, losses.length - 1)] : undefined;
  const size = drawSize(rng, plan);
  const total = size.podsPerCell * size.cells.length;
  const minAvailable = Math.min(total, Math.max(1, Math.round(total * floorShare)));
  const areLimitsLow = rng.next() < 0.2;
  const loss = lossFor({ ...plan, ...size }, lost);
  // A short time costs many beats and lists: it is for worlds in which a cell falls silent.
  const isSoonSilent = rng.next() < (loss === "cell" || loss === "writes of a cell" ? 0.5 : 0.1);
  const silentAfterMs = 1_000 * (isSoonSilent ? integer(rng, 20, 60) : 180);
  const servesProtobuf = rng.next() < 0.5;
  const rates = { ...plan.rates, oddAnswer: scaled("odd-answers", 0.02), refusal: scaled("odd-answers", 0.01) };
  // Drawn last, so that all other draws of a seed stay what they are without it.
  const upgrade = only === undefined ? upgradeFor(rng.next()) : "none";
  // The previous release knows no other limits than its own.
  const hasSmallLimits = areLimitsLow && upgrade === "none";
  const limits = hasSmallLimits ? { hasSmallLimits, compactThreshold: 3 } : { hasSmallLimits };
  const access = drawAccess(rng, loss, upgrade);
  const sourceRules = drawSourceRules(rng, upgrade);
  for (const name of drawnAfterAll) drawSeverity(name);
  const cores = drawCores(rng, total, only === undefined && upgrade === "none");
  // The previous release knows none of them.
  const mayHaveMore = plan.hasGenerator && only === undefined && upgrade === "none";
  const hasMoreSources = rng.next() < moreSourcesShare && mayHaveMore;
  for (const name of [...modes, ...longOnes]) drawSeverity(name);
  const whole: Plan = {
    ...plan,
    ...late,
    ...size,
    ...limits,
    ...access,
    ...sourceRules,
    ...cores,
    ...drawHours(rng, plan, faults.has("absences")),
    ...drawCells(rng, late.evictedPods, upgrade),
    hasMoreSources,
    minAvailable,
    loss,
    silentAfterMs: faults.has("absences") && rng.next() < 0.5 ? 1_000 * integer(rng, 20, 45) : silentAfterMs,
    servesProtobuf,
    rates,
    upgrade,
  };
  for (const name of latest) drawSeverity(name);
  // The previous release believes them.
  if (upgrade !== "none") faults.delete("node-clocks");
  return { ...whole, rates: { ...rates, lostBookmarks: scaled("lost-bookmarks", 0.5) } };
}

/** Without heartbeats nothing can be demanded after a loss. */
function drawAccess(rng: Rng, loss: Loss, upgrade: Upgrade): Pick<Plan, "forbidsHeartbeats" | "servesOnlyItsCells"> {
  const hasFewRights = rng.next() < fewRightsShare;
  return {
    forbidsHeartbeats: hasFewRights && loss === "none" && upgrade === "none",
    servesOnlyItsCells: rng.next() < 0.3,
  };
}

/** The previous release has rules of its own. */
function drawSourceRules(
  rng: Rng,
  upgrade: Upgrade,
): Pick<Plan, "percentRounding" | "singleReplica" | "protectsNonZero"> {
  const usual = { percentRounding: "at-least-one", singleReplica: "drainable", protectsNonZero: true };
  const roundings = ["up", "down"];
  const drawn = {
    percentRounding: roundings[integer(rng, 0, 3)] ?? usual.percentRounding,
    singleReplica: rng.next() < 0.3 ? "protected" : usual.singleReplica,
    protectsNonZero: rng.next() < 0.7,
  };
  return upgrade === "none" ? drawn : usual;
}

/**
 * In most worlds an hour passes within a minute or two, so that what happens after it is met by other faults. Where
 * somebody is away for so long, the world lasts longer, and not so much is deleted.
 */
function drawHours(rng: Rng, drawn: Paced, isLong: boolean): Paced & Pick<Plan, "hourMs"> {
  const shortMs = Math.round(magnitude(rng, 4.3, 5.1));
  const hourMs = rng.next() < 0.8 ? shortMs : 3_600_000;
  const { chaosMs, deletionsPerSecond } = drawn;
  const factor = isLong ? 1.6 : 1;
  return { hourMs, chaosMs: factor * chaosMs, deletionsPerSecond: deletionsPerSecond / factor };
}

/** The pod of an eviction cannot be looked for by its cell where a label of the pod names the cell. */
function drawCells(rng: Rng, evictedPods: string, upgrade: Upgrade): Pick<Plan, "cellsBy" | "evictedPods"> {
  const draw = rng.next();
  if (upgrade !== "none" || draw >= 0.15) return { cellsBy: "cluster", evictedPods };
  if (draw >= 0.08) return { cellsBy: "namespace", evictedPods };
  return { cellsBy: "label", evictedPods: evictedPods === "map" ? "single" : evictedPods };
}

/** `mayHaveTwo`: else there is one, but the rest is drawn for whoever asks for a second. */
function drawCores(
  rng: Rng,
  pods: number,
  mayHaveTwo: boolean,
): Pick<Plan, "otherCore" | "otherMinAvailable" | "lostCore"> {
  const hasTwo = rng.next() < twoCoresShare;
  const policy = rng.next() < 0.7 ? "refuse" : "last-known";
  return {
    otherCore: hasTwo && mayHaveTwo ? policy : "none",
    otherMinAvailable: Math.min(pods, Math.max(1, Math.round(pods * uniform(rng, 0.3, 1)))),
    lostCore: rng.next() < 0.5 ? firstCore : secondCore,
  };
}

/** Most worlds stay small, so that many of them run. */
function drawSize(rng: Rng, small: Size): Size {
  const webhooks = rng.next() < manyWebhooksShare ? integer(rng, 4, webhooksMax) : small.webhooks;
  const draw = rng.next();
  const size = rng.next();
  if (draw < manyPodsShare) {
    const least = manyPods / small.cells.length;
    return { ...small, webhooks, podsPerCell: Math.round(least * (podsPerCellMax / least) ** size) };
  }
  if (draw >= manyPodsShare + manyCellsShare) return { ...small, webhooks };
  const cells = cellNames.slice(0, integer(rng, 4, cellNames.length));
  const most = Math.floor(manyPods / cells.length);
  return { cells, webhooks, podsPerCell: Math.ceil(most * size) };
}

/** "none" where nothing would be left, or where docs/accounting.md#fences demands nothing. */
function lossFor(plan: Pick<Plan, "cells" | "webhooks" | "updateTrigger">, loss: Loss = "none"): Loss {
  const isSpared = {
    none: false,
    cell: plan.cells.length === 1,
    webhook: plan.webhooks === 1,
    "writes of a webhook": plan.webhooks === 1,
    aggregator: plan.cells.length === 1,
    "writes of a cell": plan.cells.length === 1,
    fences: !plan.updateTrigger,
    core: false,
    "writes of the core": false,
  }[loss];
  return isSpared ? "none" : loss;
}

/**
 * Whether the rest can be asked to go on after the loss where the previous release runs as well: that one knows no
 * silent cells, and waits for ever for fences that always fail.
 */
export function isDemandedOfUpgrades({ loss, upgrade }: Pick<Plan, "loss" | "upgrade">): boolean {
  return loss === "webhook" || loss === "writes of a webhook" || (loss === "fences" && upgrade === "forward");
}

/** One world of ten is upgraded; every fourth of these goes back instead. */
function upgradeFor(draw: number): Upgrade {
  if (draw >= 0.1) return "none";
  return draw < 0.025 ? "back" : "forward";
}
