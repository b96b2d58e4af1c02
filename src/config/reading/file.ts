/**
 * Reads the YAML file of --config: a flat map from flag names to values. All scalars are read as strings, so that 007
 * stays 007 and the flag's own type decides. Lists and maps may be written in YAML or as on the command line.
 */
import { FAILSAFE_SCHEMA, load, YAMLException } from "js-yaml";
import * as v from "valibot";
import { stringMap } from "../../api/v1alpha1/label-selector.ts";
import { flagNames, isFlagName, type FlagName } from "../flag-table.ts";
import { Problem, type SourceInputs, unknownName } from "./problem.ts";
import { quote, type FlagInput } from "../types/value-type.ts";
import { messageOf } from "../../util/printable.ts";

/** The limit of a ConfigMap, which is where such a file usually comes from. */
const fileBytesMax = 1024 * 1024;

export type ReadFile = (path: string, bytesMax: number) => string;

const valueSchema = v.union([v.string(), v.array(v.string()), stringMap]);
const fileSchema = v.record(v.string(), v.unknown());

/** `readFile` returns the text or throws, also when the file is longer than it is told. */
export function readConfigFile(path: string, readFile: ReadFile): SourceInputs {
  let document: unknown;
  try {
    const text = readFile(path, fileBytesMax);
    if (text.replace(/^\s*#.*$/gm, "").trim() === "") return { inputs: new Map(), problems: [] };
    document = load(text, { schema: FAILSAFE_SCHEMA });
  } catch (error) {
    if (error instanceof YAMLException) {
      const line = error.mark === undefined ? "" : ` in line ${error.mark.line + 1}`;
      return unusable(`file ${quote(path)} is not valid YAML: ${error.reason}${line}`);
    }
    const [reason = ""] = messageOf(error).split("\n");
    return unusable(`cannot read --config=${quote(path)}: ${reason}`);
  }
  return readDocument(path, document);
}

function unusable(message: string): SourceInputs {
  return { inputs: new Map(), problems: [new Problem(message)] };
}

function readDocument(path: string, document: unknown): SourceInputs {
  const file = v.safeParse(fileSchema, document);
  if (!file.success || Array.isArray(document))
    return unusable(`file ${quote(path)} is not a map from flag names to values such as "klog-v: 4"`);
  const inputs = new Map<FlagName, FlagInput>();
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries(document as object)) {
    const input = v.safeParse(valueSchema, value);
    const problem = keyProblem(path, key, input);
    if (problem !== undefined) problems.push(problem);
    else if (isFlagName(key) && input.success) inputs.set(key, input.output);
  }
  return { inputs, problems };
}

type FlatValue = v.SafeParseResult<typeof valueSchema>;

function keyProblem(path: string, key: string, { success, output }: FlatValue): Problem | undefined {
  const first = flagNames.find((name) => name.startsWith(`${key}-`));
  if (!isFlagName(key) && first !== undefined && (!success || typeof output !== "string"))
    return new Problem(`key in file ${quote(path)}: ${key} is not a flag; allowed: whole names such as ${first}`);
  if (!isFlagName(key))
    return unknownName(`key in file ${quote(path)}:`, key, flagNames, (one) => one, "--help-all lists all");
  if (key === "config")
    return new Problem(`key config in file ${quote(path)}: a file cannot include another; use the flag --config`);
  if (success) return undefined;
  return new Problem(
    `key ${key} in file ${quote(path)}: is nested too deep; allowed: a scalar, a list of scalars or a map of scalars`,
  );
}
