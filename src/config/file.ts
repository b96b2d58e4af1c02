/**
 * Reads the YAML file of --config: a flat map from flag names to values. All scalars are read as strings, so that 007
 * stays 007 and the flag's own type decides. Lists and maps may be written in YAML or as on the command line.
 */
import { FAILSAFE_SCHEMA, load, YAMLException } from "js-yaml";
import * as v from "valibot";
import { stringMap } from "../api/label-schema.ts";
import { flagNames, isFlagName, type FlagName } from "./flag-table.ts";
import { Problem, unknownName } from "./problem.ts";
import { quote, type FlagInput } from "./value-type.ts";
import { messageOf } from "../util/error-message.ts";

/** The limit of a ConfigMap, which is where such a file usually comes from. */
const fileBytesMax = 1024 * 1024;

export type ReadFile = (path: string, bytesMax: number) => string;

const valueSchema = v.union([v.string(), v.array(v.string()), stringMap]);
const fileSchema = v.record(v.string(), v.unknown());

/** `readFile` returns the text or throws, also when the file is longer than it is told. */
export function readConfigFile(path: string, readFile: ReadFile): Map<FlagName, FlagInput> | Problem {
  let document: unknown;
  try {
    const text = readFile(path, fileBytesMax);
    if (text.replace(/^\s*#.*$/gm, "").trim() === "") return new Map();
    document = load(text, { schema: FAILSAFE_SCHEMA });
  } catch (error) {
    if (error instanceof YAMLException) {
      const line = error.mark === undefined ? "" : ` in line ${error.mark.line + 1}`;
      return new Problem(`file ${quote(path)} is not valid YAML: ${error.reason}${line}`);
    }
    const [reason = ""] = messageOf(error).split("\n");
    return new Problem(`cannot read --config=${quote(path)}: ${reason}`);
  }
  return readDocument(path, document);
}

function readDocument(path: string, document: unknown): Map<FlagName, FlagInput> | Problem {
  const file = v.safeParse(fileSchema, document);
  if (!file.success || Array.isArray(document)) {
    return new Problem(`file ${quote(path)} is not a map from flag names to values such as "klog-v: 4"`);
  }
  const inputs = new Map<FlagName, FlagInput>();
  for (const [key, value] of Object.entries(document as object)) {
    if (!isFlagName(key)) return unknownName(`key in file ${quote(path)}:`, key, flagNames, (candidate) => candidate);
    if (key === "config")
      return new Problem(`key config in file ${quote(path)}: a file cannot include another; use the flag --config`);
    const input = v.safeParse(valueSchema, value);
    if (!input.success) {
      return new Problem(
        `key ${key} in file ${quote(path)}: is nested too deep; allowed: a scalar, a list of scalars or a map of ` +
          "scalars",
      );
    }
    inputs.set(key, input.output);
  }
  return inputs;
}
