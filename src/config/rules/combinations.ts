/**
 * Combinations of flags that cannot work. Only flags of the selected roles are checked. Each rule returns one line that
 * names the flags and what is allowed, or nothing.
 */
import { isIPv4Fallback, isLoopback, isWildcard } from "../types/address.ts";
import { unprefixed, type Role } from "../flag.ts";
import { type FlagValues } from "../flag-table.ts";
import { formatDuration } from "../types/duration.ts";
import { aggregatorElector, generatorElector, updateTriggerRunBy } from "../config.ts";
import {
  aggregatorCountsByLabel,
  dummyPodIsInCell,
  labelFitsProvider,
  labelNeedsCells,
  ownCellIsServed,
  coreFlagsFitProvider,
  coresDiffer,
  generatorHasCore,
  policiesNameCores,
  clientCaClosesHttp,
  clientCellsAreServed,
  clientsAreNamedOnce,
  clientsNameNoLabelCells,
} from "./cluster-rules.ts";
import { electionProblem } from "../election.ts";
import { isCustomSourceID } from "../generator-rules.ts";
import { annotatedCriteria, drainDelayMsMax, refusalHoldMsMax } from "../flags/webhook.ts";
import { Problem } from "../reading/problem.ts";

type Rule = (values: FlagValues) => string | undefined;

/** Every combination that cannot work, in the order of the rules. */
export function combinationProblems(values: FlagValues): readonly Problem[] {
  const selected = new Set(values.role);
  return rulesByRoles
    .filter(([roles]) => roles.some((role) => selected.has(role)))
    .flatMap(([, rules]) => rules.map((rule) => rule(values)))
    .filter((message) => message !== undefined)
    .map((message) => new Problem(message));
}

const serverPrefixes = ["healthz-", "prometheus-http-", "pprof-", "webhook-"] as const;
type ServerPrefix = (typeof serverPrefixes)[number];

const httpsNeedsFiles =
  (prefix: ServerPrefix): Rule =>
  (values) => {
    const server = unprefixed(values, prefix);
    if (!server["https-enable"]) return undefined;
    const missing = (["https-cert-file", "https-key-file"] as const).find((name) => server[name] === "");
    return (
      missing &&
      `--${prefix}https-enable requires --${prefix}https-cert-file and --${prefix}https-key-file; ` +
        `--${prefix}${missing} is missing`
    );
  };

const webhookHasCertificate: Rule = (values) => {
  const own = unprefixed(values, "webhook-");
  if (!own["https-issued-certificate"]) return httpsNeedsFiles("webhook-")(values);
  if (!own["https-enable"]) return "--webhook-https-issued-certificate requires --webhook-https-enable";
  const file = (["https-cert-file", "https-key-file"] as const).find((name) => own[name] !== "");
  return file && `--webhook-https-issued-certificate takes the place of --webhook-${file}; allowed: one of the two`;
};

const impersonationNeedsUser =
  (
    prefix:
      | "core-kube-"
      | "worker-kube-"
      | "webhook-worker-client-provider.single-kube-"
      | "webhook-worker-client-provider.map-",
  ): Rule =>
  (values) => {
    const own = unprefixed(values, prefix);
    if (own["impersonate-username"] !== "") return undefined;
    if (own["impersonate-uid"] !== "") return `--${prefix}impersonate-uid requires --${prefix}impersonate-username`;
    if (own["impersonate-groups"].length > 0)
      return `--${prefix}impersonate-groups requires --${prefix}impersonate-username`;
    return undefined;
  };

type NumberFlag = { [K in keyof FlagValues]: FlagValues[K] extends number ? K : never }[keyof FlagValues];

/** A flag is at most another one, or at most a number. */
const atMost =
  (low: NumberFlag, high: NumberFlag | number, shown: (value: number) => string = formatDuration): Rule =>
  (values) => {
    const most = typeof high === "number" ? high : values[high];
    if (values[low] <= most) return undefined;
    const allowed = typeof high === "number" ? shown(most) : `--${high} (${shown(most)})`;
    return `--${low} (${shown(values[low])}) must be at most ${allowed}`;
  };

const windowOutlastsFence: Rule = (values) => {
  const fence = values["aggregator-settlement-fence-delay"];
  const window = values["aggregator-settle-window"];
  if (window >= fence) return undefined;
  return (
    `--aggregator-settle-window (${formatDuration(window)}) must be at least --aggregator-settlement-fence-delay ` +
    `(${formatDuration(fence)})`
  );
};

const annotationHasKey: Rule = (values) => {
  const flag = "--aggregator-informer-synctime-algorithm";
  const algorithm = values["aggregator-informer-synctime-algorithm"];
  const isKeyGiven = values["aggregator-informer-synctime-algorithm.annotation-key"] !== "";
  if (isKeyGiven === (algorithm === "annotation")) return undefined;
  return isKeyGiven
    ? `${flag}.annotation-key is allowed only with ${flag}=annotation, but it is ${algorithm}`
    : `${flag}=annotation requires ${flag}.annotation-key`;
};

const webhookListens: Rule = (values) => {
  if (values["webhook-enable"] || values["webhook-https-enable"]) return undefined;
  const address = values["webhook-bind-addr"];
  const isOpen = !isLoopback(address);
  return (
    "the webhook has no listener: set --webhook-enable, --webhook-https-enable or both" +
    (isOpen
      ? ` (HTTP on --webhook-bind-addr=${address}, beyond loopback, is off unless --webhook-enable is given)`
      : "")
  );
};

/** A PodProtector is led back to its kind by the beginning of its name, which the first would share with the second. */
const customSourcesDiffer: Rule = (values) => {
  const custom = values["generator-sources"].filter(isCustomSourceID);
  for (const one of custom) {
    const other = custom.find((id) => id.startsWith(`${one}-`));
    if (other !== undefined)
      return (
        `--generator-sources: ${one} and ${other} cannot both be there, since the names of their PodProtectors ` +
        "begin alike; allowed: one of them"
      );
  }
  return undefined;
};

const filterNeedsByCell: Rule = (values) =>
  values["webhook-requires-pod-name.by-cell-filter"].length > 0 && values["webhook-requires-pod-name"] !== "by-cell"
    ? "--webhook-requires-pod-name.by-cell-filter is allowed only with --webhook-requires-pod-name=by-cell, " +
      `but it is ${values["webhook-requires-pod-name"]}`
    : undefined;

const clientFlagsFitProvider: Rule = (values) => {
  const provider = values["webhook-worker-client-provider"];
  const single = unprefixed(values, "webhook-worker-client-provider.single-kube-");
  const own = unprefixed(values, "webhook-worker-client-provider.map-");
  const only = (flag: string, needed: string): string =>
    `--webhook-worker-client-provider.${flag} is allowed only with --webhook-worker-client-provider=${needed}, ` +
    `but it is ${provider}`;
  if (provider !== "single" && single.config !== "") return only("single-kube-config", "single");
  if (provider !== "single" && single.master !== "") return only("single-kube-master", "single");
  const cells = Object.keys(own.configs);
  if (provider !== "map" && cells.length > 0) return only("map-configs", "map");
  if (provider !== "map" && Object.keys(own.masters).length > 0) return only("map-masters", "map");
  if (provider === "map" && cells.length === 0) {
    return (
      "--webhook-worker-client-provider=map requires at least one cell in " +
      "--webhook-worker-client-provider.map-configs"
    );
  }
  const stray = Object.keys(own.masters).find((cell) => !Object.hasOwn(own.configs, cell));
  if (stray === undefined) return undefined;
  const allowed = cells.slice(0, 10).join(", ");
  return (
    `--webhook-worker-client-provider.map-masters contains the cell ${stray}, but ` +
    `--webhook-worker-client-provider.map-configs does not; allowed: ${allowed}`
  );
};

const criteriaDiffer: Rule = (values) => {
  const seen = new Map<string, string>();
  for (const criterion of annotatedCriteria) {
    const prefix =
      `webhook-handler-health-criterion-${criterion.toLowerCase() as Lowercase<typeof criterion>}-` as const;
    const own = unprefixed(values, prefix) as { readonly key: string; readonly value: string };
    const annotation = `${own.key}=${own.value}`;
    const other = seen.get(annotation);
    if (other !== undefined)
      return `--${prefix}value: the annotation ${annotation} already selects ${other}; use a distinct key/value pair`;
    seen.set(annotation, criterion);
  }
  return undefined;
};

/** The aggregator sees a dummy pod only in the namespace that it watches. */
const triggerIsWatched: Rule = (values) => {
  const watched = values["worker-kube-target-namespace"];
  const namespace = values["update-trigger-dummy-pod-namespace"];
  const isRunning = updateTriggerRunBy(new Set(values.role), values["update-trigger-enable"]) === "aggregator";
  if (!isRunning || watched === "" || namespace === "" || watched === namespace) return undefined;
  return `--update-trigger-dummy-pod-namespace (${namespace}) must equal --worker-kube-target-namespace (${watched})`;
};

const portsDiffer: Rule = (values) => {
  const listeners = serverPrefixes
    .filter((prefix) => prefix !== "webhook-" || values.role.includes("webhook"))
    .flatMap((prefix) => {
      const own = unprefixed(values, prefix);
      return [
        { isOn: own.enable, address: own["bind-addr"], port: own.port, flag: `--${prefix}port` },
        {
          isOn: own["https-enable"],
          address: own["https-bind-addr"],
          port: own["https-port"],
          flag: `--${prefix}https-port`,
        },
      ];
    })
    .filter(({ isOn, port }) => isOn && port !== 0);
  for (const [index, one] of listeners.entries()) {
    const other = listeners
      .slice(0, index)
      .find(({ port, address }) => port === one.port && overlap(address, one.address));
    if (other !== undefined)
      return `${other.flag} and ${one.flag} are both ${one.port} on the same address; ports must differ`;
  }
  return undefined;
};

function overlap(one: string, other: string): boolean {
  return one === other || isWildcard(one) || isWildcard(other) || isIPv4Fallback(one, other);
}

const rulesByRoles: readonly (readonly [readonly Role[], readonly Rule[]])[] = [
  [
    ["generator", "aggregator", "webhook", "update-trigger"],
    [httpsNeedsFiles("healthz-"), httpsNeedsFiles("prometheus-http-"), httpsNeedsFiles("pprof-"), portsDiffer],
  ],
  [
    ["generator", "aggregator", "webhook"],
    [impersonationNeedsUser("core-kube-"), coreFlagsFitProvider, coresDiffer],
  ],
  [
    ["aggregator", "update-trigger"],
    [impersonationNeedsUser("worker-kube-"), triggerIsWatched],
  ],
  [
    ["webhook"],
    [
      webhookListens,
      clientCaClosesHttp,
      clientsAreNamedOnce,
      clientsNameNoLabelCells,
      clientCellsAreServed,
      atMost("webhook-drain-delay", drainDelayMsMax),
      atMost("webhook-refusal-hold", refusalHoldMsMax),
      webhookHasCertificate,
      filterNeedsByCell,
      clientFlagsFitProvider,
      impersonationNeedsUser("webhook-worker-client-provider.single-kube-"),
      impersonationNeedsUser("webhook-worker-client-provider.map-"),
      criteriaDiffer,
      policiesNameCores,
      labelFitsProvider,
      labelNeedsCells,
    ],
  ],
  [
    ["aggregator"],
    [
      atMost("aggregator-rate-jitter-low", "aggregator-rate-jitter-high", String),
      windowOutlastsFence,
      annotationHasKey,
      aggregatorCountsByLabel,
      dummyPodIsInCell,
      ownCellIsServed,
      atMost("aggregator-worker-backoff-base", "aggregator-worker-backoff-max"),
      (values) => electionProblem(aggregatorElector(values), "aggregator-leader-elector-"),
    ],
  ],
  [
    ["generator"],
    [
      generatorHasCore,
      customSourcesDiffer,
      atMost("generator-worker-backoff-base", "generator-worker-backoff-max"),
      (values) => electionProblem(generatorElector(values), "generator-leader-elector-"),
    ],
  ],
];
