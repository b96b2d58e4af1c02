/** Combinations of flags about core clusters that cannot work. One line that names the flags, or nothing. */
import { coresOf } from "../clusters.ts";
import { unprefixed } from "../flag.ts";
import { type FlagValues } from "../flag-table.ts";

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
