/**
 * What flags about cells have to agree on. Each rule returns one line that names the flags and what is allowed, or
 * nothing.
 */
import { compileSelector, formatSelector } from "../../label-index/index.ts";
import { type FlagValues } from "../flag-table.ts";

const cellLabel = "--webhook-cell-label";

/** The cell is known when the pod of an eviction has been read, and with `map` the cell decides where it is read. */
export function labelFitsProvider(values: FlagValues): string | undefined {
  const key = values["webhook-cell-label"];
  if (key === "" || values["webhook-worker-client-provider"] !== "map") return undefined;
  return (
    `${cellLabel} (${key}) is not allowed with --webhook-worker-client-provider=map: the cell of an evicted pod is ` +
    "known only when the pod has been read; allowed: single (all cells by label are in one worker cluster), none"
  );
}

/** Labels are chosen by whoever makes pods, so the webhook has to know which ones are cells. */
export function labelNeedsCells(values: FlagValues): string | undefined {
  const key = values["webhook-cell-label"];
  if (key === "" || values["webhook-allowed-cells"].length > 0) return undefined;
  return (
    `${cellLabel} (${key}) requires --webhook-allowed-cells, which is empty; allowed: every value of the label that ` +
    "is a cell"
  );
}

/**
 * The cell has the pods with its label, no more and no fewer: others would be counted in a cell by whose quota their
 * deletion is not judged.
 */
export function aggregatorCountsByLabel(values: FlagValues): string | undefined {
  const key = values["webhook-cell-label"];
  if (key === "") return undefined;
  const cell = values["aggregator-cell-id"];
  const compiled = compileSelector(values["aggregator-pod-label-selector"]);
  const selector = compiled.ok ? formatSelector(compiled.selector) : "";
  const wanted = compileSelector({ matchLabels: { [key]: cell } });
  if (wanted.ok && selector === formatSelector(wanted.selector)) return undefined;
  return (
    `${cellLabel} (${key}) requires --aggregator-pod-label-selector to select exactly the pods of the cell ${cell}, ` +
    `but it is ${selector === "" ? "empty" : selector}; allowed: ${key}=${cell}`
  );
}

/** By the dummy pod the aggregator asks whether deletions of its cell are reviewed as such. */
export function dummyPodIsInCell(values: FlagValues): string | undefined {
  const key = values["webhook-cell-label"];
  const cell = values["aggregator-cell-id"];
  const labels = new Map(Object.entries(values["update-trigger-dummy-pod-labels"]));
  if (key === "" || labels.get(key) === cell) return undefined;
  const found = labels.has(key) ? `it has ${key}=${labels.get(key)}` : "it does not have it";
  return (
    `${cellLabel} (${key}) requires the cell ${cell} in --update-trigger-dummy-pod-labels, but ${found}; ` +
    `allowed: ${key}=${cell}, and a --update-trigger-dummy-pod-name of its own for each cell`
  );
}

/** In one process the webhook would take no review of the pods that the aggregator counts. */
export function ownCellIsServed(values: FlagValues): string | undefined {
  const cell = values["aggregator-cell-id"];
  const served = values["webhook-allowed-cells"];
  const isAsked = values.role.includes("webhook") && values.role.includes("aggregator");
  if (!isAsked || values["webhook-cell-label"] === "" || served.includes(cell)) return undefined;
  return (
    `--aggregator-cell-id (${cell}) is not one of --webhook-allowed-cells, so with ${cellLabel} no deletion of its ` +
    `pods would be admitted; allowed: ${served.slice(0, 10).join(", ")}`
  );
}
