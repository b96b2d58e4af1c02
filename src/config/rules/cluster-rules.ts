/**
 * What flags about core clusters, cells and callers have to agree on. Each rule returns one line that names the flags
 * and what is allowed, or nothing.
 */
import { clientCells, coresOf } from "../clusters.ts";
import { unprefixed } from "../flag.ts";
import { type FlagValues } from "../flag-table.ts";
import { compileSelector, formatSelector } from "../../label-index/index.ts";

/** Names listed in a message. */
const namedMax = 10;

const provider = "--podprotector-source-provider";

/** Which flags name the cores must agree with the provider. */
export function coreFlagsFitProvider(values: FlagValues): string | undefined {
  const kind = values["podprotector-source-provider"];
  const { configs, masters } = unprefixed(values, "podprotector-source-provider.map-");
  const names = Object.keys(configs);
  if (kind === "core-only") {
    if (names.length > 0) return `${provider}.map-configs is allowed only with ${provider}=map, but it is ${kind}`;
    const hasMasters = Object.keys(masters).length > 0;
    return hasMasters ? `${provider}.map-masters is allowed only with ${provider}=map, but it is ${kind}` : undefined;
  }
  // Silently left out, a core would lose its protection.
  if (values["core-kube-config"] !== "" || values["core-kube-master"] !== "") {
    const flag = values["core-kube-config"] === "" ? "--core-kube-master" : "--core-kube-config";
    return `${flag} is allowed only with ${provider}=core-only; name that core in ${provider}.map-configs`;
  }
  if (names.length === 0) return `${provider}=map requires at least one core in ${provider}.map-configs`;
  const stray = Object.keys(masters).find((name) => !Object.hasOwn(configs, name));
  if (stray === undefined) return undefined;
  const what = `${provider}.map-masters contains the core ${stray}`;
  return `${what}, but ${provider}.map-configs does not; allowed: ${listed(names)}`;
}

/** One cluster under two names would be counted, and asked, twice. */
export function coresDiffer(values: FlagValues): string | undefined {
  const seen = new Map<string, string>();
  for (const [name, { kubeConfigPath, master }] of coresOf(values)) {
    const address = `${kubeConfigPath}\n${master}`;
    const other = seen.get(address);
    if (other !== undefined) return `${provider}.map-configs: ${other} and ${name} are the same cluster; name it once`;
    seen.set(address, name);
  }
  return undefined;
}

/** Two generators of one core would each make of its workloads what its own flags say. */
export function generatorHasCore(values: FlagValues): string | undefined {
  const names = [...coresOf(values).keys()];
  const chosen = values["generator-core"];
  if (chosen === "")
    return names.length > 1
      ? `several cores are configured: set --generator-core to that of this generator; allowed: ${listed(names)}`
      : undefined;
  return names.includes(chosen)
    ? undefined
    : `--generator-core is ${chosen}, which is not configured; allowed: ${listed(names)}`;
}

export function policiesNameCores(values: FlagValues): string | undefined {
  const cores = coresOf(values);
  const stray = Object.keys(values["webhook-core-unavailable-policy.by-core"]).find((name) => !cores.has(name));
  if (stray === undefined) return undefined;
  const flag = "--webhook-core-unavailable-policy.by-core";
  return `${flag} contains the core ${stray}, which is not configured; allowed: ${listed([...cores.keys()])}`;
}

function listed(names: readonly string[]): string {
  return names.slice(0, namedMax).join(", ");
}

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

const clientsFlag = "--webhook-client-cells";

/** Client certificates protect nothing while another port asks for none. */
export function clientCaClosesHttp(values: FlagValues): string | undefined {
  const named = (["webhook-client-allowed-names", "webhook-client-cells"] as const).find((name) => values[name].length);
  if (values["webhook-client-ca-file"] === "") {
    return named && `--${named} requires --webhook-client-ca-file`;
  }
  if (!values["webhook-https-enable"]) return "--webhook-client-ca-file requires --webhook-https-enable";
  return values["webhook-enable"]
    ? "--webhook-client-ca-file requires --webhook-enable=false: HTTP would serve clients without a certificate"
    : undefined;
}

/** One flag says which clients there are. */
export function clientsAreNamedOnce(values: FlagValues): string | undefined {
  if (values["webhook-client-cells"].length === 0 || values["webhook-client-allowed-names"].length === 0)
    return undefined;
  return (
    `--webhook-client-allowed-names is not allowed with ${clientsFlag}, which names the clients already; ` +
    "allowed: one of them"
  );
}

/** All cells by label are in one worker cluster, whose API server speaks for each of them. */
export function clientsNameNoLabelCells(values: FlagValues): string | undefined {
  const key = values["webhook-cell-label"];
  if (values["webhook-client-cells"].length === 0 || key === "") return undefined;
  return (
    `${clientsFlag} is not allowed with ${cellLabel} (${key}): the label of the pod names the cell, not the URL; ` +
    "allowed: --webhook-client-allowed-names"
  );
}

/** A cell that only one of the two flags names would be refused, whoever asks. */
export function clientCellsAreServed(values: FlagValues): string | undefined {
  const served = new Set(values["webhook-allowed-cells"]);
  const bound = new Set(
    clientCells(values)
      .values()
      .flatMap((cells) => [...cells]),
  );
  if (served.size === 0 || bound.size === 0) return undefined;
  const unserved = [...bound].find((cell) => !served.has(cell));
  if (unserved !== undefined)
    return (
      `${clientsFlag} names the cell ${unserved}, which is not one of --webhook-allowed-cells; allowed: ` +
      listed([...served])
    );
  const unbound = [...served].find((cell) => !bound.has(cell));
  if (unbound === undefined) return undefined;
  return (
    `--webhook-allowed-cells names the cell ${unbound}, for which no client of ${clientsFlag} may speak; allowed: ` +
    listed([...bound])
  );
}
