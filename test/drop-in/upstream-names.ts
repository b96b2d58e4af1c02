/** Reads upstream-names.yaml. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { load } from "js-yaml";

interface UpstreamNames {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
  readonly finalizers: readonly string[];
  readonly auditAnnotations: readonly string[];
  readonly checks: Readonly<Record<"webhook" | "aggregator" | "generator", readonly string[]>>;
  readonly phases: readonly string[];
  readonly apiErrors: Readonly<Record<string, { readonly code: number; readonly here: string }>>;
  readonly labelValues: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export const upstreamNames = load(
  readFileSync(path.join(import.meta.dirname, "upstream-names.yaml"), "utf8"),
) as UpstreamNames;
