/** Why pods would not go, in words: who is in the way, with which numbers, and what to do about it. */
import { type QuotaFigures } from "../../accounting/reserve/quota-figures.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../../util/assert.ts";
import { printable } from "../../util/printable.ts";
import { type FloorOwner, floorOwnerOf } from "../../webhook/decide/refusals/floor-owner.ts";
import { ageText } from "../../webhook/decide/refusals/silence-text.ts";
import { type BudgetRefusal } from "./budgets.ts";
import { type Obstruction } from "./drain-plan.ts";
import { type Guarding, type Refusal } from "./guard.ts";

/** What has to change before the pods can go. */
export type ObstacleKind =
  /** As many must stay as there are: only somebody who changes the floor or the replicas can help. */
  | "undrainable"
  /** Pods that are not available now have to become available. */
  | "too-few-available"
  /** Nobody knows how many pods a cell has: it is silent, or not counted. */
  | "cell-unknown"
  /** Earlier deletions have to settle: of the quota, or of the room to record them. */
  | "promised"
  /** The PodProtector itself has to be mended. */
  | "unusable"
  /** A PodDisruptionBudget allows no disruption. */
  | "budget";

export interface Obstacle {
  readonly kind: ObstacleKind;
  /** `PodProtector core/shop/deployment-api`, `PodDisruptionBudget shop/api`. */
  readonly by: string;
  /** What is in the way; no full stop. */
  readonly text: string;
  /** What to do; no full stop. */
  readonly cure: string;
}

type Verdict = Refusal["verdict"];
type Figures = Pick<QuotaFigures, "required" | "aggregated" | "total" | "criterion">;

/** What the refusals are about. */
export interface Refused {
  /** By ID. */
  readonly protectors: ReadonlyMap<string, Guarding>;
  /** Of the pod. */
  readonly cellID: string;
}

/** One for each PodProtector or PodDisruptionBudget that refuses. */
export function obstaclesOf(obstruction: Obstruction, { protectors, cellID }: Refused): readonly Obstacle[] {
  if (obstruction.by === "budget") return [ofBudget(obstruction.refusal)];
  return obstruction.refusals.map(({ id, verdict }) => {
    const state = protectors.get(id)?.state;
    const object = state?.kind === "valid" ? state.view.protector : undefined;
    return { by: printable(`PodProtector ${id}`), ...inTheWay(verdict, object, cellID) };
  });
}

function inTheWay(verdict: Verdict, object: PodProtector | undefined, cellID: string): Omit<Obstacle, "by"> {
  switch (verdict.kind) {
    case "rejected": {
      const [missed] = verdict.missed ?? [];
      if (missed !== undefined) return ofSilence(missed, verdict.figures);
      return tooFew(verdict.figures, object && floorOwnerOf(object));
    }
    case "cell-silent":
      if (verdict.isRetiring === true)
        return {
          kind: "cell-unknown",
          text: "the cell of the pod is being retired",
          cure: "wait until it is retired, or take the request back",
        };
      return {
        kind: "cell-unknown",
        text: `nothing has been heard from the cell of the pod for ${ageText(verdict.silentForMs)}`,
        cure: silenceCure(cellID),
      };
    case "counts-pending": {
      const cells = verdict.awaited.map((cell) => printable(cell)).join(", ");
      const cure = "check that its aggregator runs, and that the URL of its webhook ends with the name of the cell";
      return { kind: "cell-unknown", text: `nobody has counted its pods in cell ${cells}`, cure };
    }
    case "retry": {
      const [missed] = verdict.missed ?? [];
      if (missed !== undefined) return ofSilence(missed, verdict.figures);
      return promised(verdict.cause);
    }
    case "unusable":
      return { kind: "unusable", text: `it is invalid: ${verdict.reason}`, cure: "mend or delete the PodProtector" };
    case "crowd":
      return {
        kind: "unusable",
        text: "more PodProtectors count the pod than can be asked",
        cure: "delete those that nobody needs, or narrow their selectors",
      };
    default:
      return assertNever(verdict);
  }
}

function tooFew(
  { required, aggregated, total, criterion }: Figures,
  owner: FloorOwner | undefined,
): Omit<Obstacle, "by"> {
  const noun = criterion.toLowerCase();
  const all = owner?.isUndrainable === true || (total !== undefined && total <= required);
  if (!all) {
    const lacking = required + 1 - aggregated;
    const missing = lacking === 1 ? "a pod is" : `${lacking} pods are`;
    const cure = `find out why ${missing} not ${noun}, or ${lowering(owner)}`;
    return {
      kind: "too-few-available",
      text: `${required} must stay, and ${aggregated} of ${total ?? "its"} pods are ${noun}`,
      cure,
    };
  }
  const pods = total === undefined ? "all its pods" : total === 1 ? "its only pod" : `all of its ${total} pods`;
  const isShort = total !== undefined && total < required;
  const text = isShort ? `${required} must stay, and there are ${total} pods` : `${pods} must stay`;
  return { kind: "undrainable", text, cure: makingRoom(owner) };
}

/** Where the floor follows the replicas, one replica more would not help. */
function makingRoom(owner: FloorOwner | undefined): string {
  if (owner === undefined) return `add a replica, or ${lowering(owner)}`;
  if (!owner.isUndrainable) return `find out why there are no more pods, or ${lowering(owner)}`;
  return `${lowering(owner)}${restarting(owner)}`;
}

/** A rolling update makes pods elsewhere before it takes away those of a cordoned node. */
function restarting({ name }: FloorOwner): string {
  const [kind, key = ""] = name.split(" ");
  if (kind !== "Deployment") return "";
  const [namespace, deployment] = key.split("/");
  return `; or cordon the node, and kubectl -n ${namespace} rollout restart deployment/${deployment}`;
}

function lowering(owner: FloorOwner | undefined): string {
  if (owner === undefined) return "lower spec.minAvailable of the PodProtector";
  if (owner.hasVanished) return `create ${owner.name} again, which vanished without being deleted`;
  return `let more be away: ${owner.fields} of ${owner.name}`;
}

function ofSilence(cellID: string, { cells }: Pick<QuotaFigures, "cells">): Omit<Obstacle, "by"> {
  const silentForMs = cells.find((cell) => cell.cellID === cellID)?.silentForMs ?? 0;
  return {
    kind: "cell-unknown",
    text: `cell ${printable(cellID)} has been silent for ${ageText(silentForMs)}, so its pods do not count`,
    cure: silenceCure(cellID),
  };
}

function silenceCure(cellID: string): string {
  return `bring its aggregator back, or keep its counts in force: podseidon cells keep ${printable(cellID)} --for 2h`;
}

function promised(cause: Extract<Verdict, { readonly kind: "retry" }>["cause"]): Omit<Obstacle, "by"> {
  switch (cause) {
    case "unconfirmed":
      return {
        kind: "promised",
        text: "what is free is promised to others",
        cure: "wait until these have gone",
      };
    case "lag-limit":
      return { kind: "promised", text: "maxConcurrentLag permits no more", cure: "raise maxConcurrentLag" };
    case "full-buffer":
    case "full-status":
      return {
        kind: "promised",
        text: "its admission history is full",
        cure: "check that the aggregators settle what was promised",
      };
    default:
      return assertNever(cause);
  }
}

function ofBudget({ kind, budgets }: BudgetRefusal): Obstacle {
  const [{ namespace, name, desired, healthy, expected }] = budgets;
  const by = printable(`PodDisruptionBudget ${namespace}/${name}`);
  switch (kind) {
    case "several": {
      const names = budgets.map((budget) => printable(budget.name)).join(", ");
      const text = `the API server does not evict a pod with several budgets: ${names}`;
      return { kind: "budget", by, text, cure: "delete all but one, or narrow their selectors" };
    }
    case "unobserved":
      return { kind: "budget", by, text: "it is not processed yet", cure: "check the disruption controller" };
    case "none-allowed": {
      const text = `it needs ${desired} healthy pods of ${expected}, and has ${healthy}`;
      const cure =
        expected <= desired
          ? "add a replica, or let the budget allow one disruption"
          : "find out why pods are not ready";
      return { kind: "budget", by, text, cure };
    }
    default:
      return assertNever(kind);
  }
}
