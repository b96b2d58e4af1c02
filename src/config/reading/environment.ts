/**
 * Reads settings from the environment. Only variables with one prefix are read, and an unknown name with this prefix is
 * refused. The prefix is more than the program's name on purpose: for a Service called `podseidon-webhook` the kubelet
 * injects PODSEIDON_WEBHOOK_PORT=tcp://…, which must have no effect here.
 */
import { flagNames, type FlagName } from "../flag-table.ts";
import { type Problem, type SourceInputs, unknownName } from "./problem.ts";

export const environmentPrefix = "PODSEIDON_FLAG_";

/** `webhook-requires-pod-name.by-cell-filter` -> `PODSEIDON_FLAG_WEBHOOK_REQUIRES_POD_NAME_BY_CELL_FILTER`. */
export function environmentName(name: FlagName): string {
  return environmentPrefix + name.replace(/[-.]/g, "_").toUpperCase();
}

/** The values by flag. A variable that is set to the empty string counts as given. Unknown ones are problems. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): SourceInputs {
  const flagOf = new Map(flagNames.map((name) => [environmentName(name), name]));
  const inputs = new Map<FlagName, string>();
  const problems: Problem[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith(environmentPrefix) || value === undefined) continue;
    const name = flagOf.get(variable);
    if (name === undefined)
      problems.push(unknownName("environment variable", variable, [...flagOf.keys()], (one) => one, listing));
    else inputs.set(name, value);
  }
  return { inputs, problems };
}

const listing = "--help-all lists all flags";
