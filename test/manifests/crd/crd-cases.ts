/**
 * PodProtectors that the CRD must accept or refuse, from crd-cases.yaml. The unit tests try the schema on them; `make
 * e2e` may send them to a real API server (`dryRun=All`), which evaluates the rules as well.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { load } from "js-yaml";

export interface CrdCase {
  readonly name: string;
  /** Not typed as a PodProtector: most of them are none. */
  readonly object: {
    readonly apiVersion: "podseidon.kubewharf.io/v1alpha1";
    readonly kind: "PodProtector";
    readonly metadata: { readonly name: string; readonly namespace: string };
    readonly spec?: unknown;
    readonly status?: unknown;
  };
  /** What refuses it: the schema, a rule in x-kubernetes-validations, or nothing. */
  readonly refusedBy: "schema" | "rule" | undefined;
}

interface Written {
  readonly spec?: object;
  readonly whole?: object | null;
  readonly status?: unknown;
}

const plainSpec = { minAvailable: 2, minReadySeconds: 0, selector: { matchLabels: { app: "a" } } };

function objectOf({ spec, whole, status }: Written): CrdCase["object"] {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "crd-case", namespace: "default" },
    ...(whole === null ? {} : { spec: whole ?? { ...plainSpec, ...spec } }),
    ...(status === undefined ? {} : { status }),
  };
}

const text = readFileSync(path.join(import.meta.dirname, "crd-cases.yaml"), "utf8").replaceAll(
  /\$\{(\w+)\*(\d+)\}/g,
  (_, what: string, times: string) => what.repeat(Number(times)),
);
const written = load(text) as Readonly<Record<"accepted" | "schema" | "rule", Readonly<Record<string, Written>>>>;

export const crdCases: readonly CrdCase[] = (["accepted", "schema", "rule"] as const).flatMap((verdict) =>
  Object.entries(written[verdict]).map(([name, one]) => ({
    name,
    object: objectOf(one),
    refusedBy: verdict === "accepted" ? undefined : verdict,
  })),
);
