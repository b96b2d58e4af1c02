import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import type { PodProtector, PodProtectorSpec, PodProtectorStatus } from "../../../src/api/v1alpha1/pod-protector.ts";
import { crdCases } from "./crd-cases.ts";
import { type Manifest, manifestsFolder, onlyOne, readManifests } from "../manifest-files.ts";

interface Schema {
  readonly type: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string }[];
}
interface Crd extends Manifest {
  readonly spec: {
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly [
      {
        readonly schema: { readonly openAPIV3Schema: Schema };
        readonly additionalPrinterColumns: readonly {
          readonly name: string;
          readonly jsonPath: string;
          readonly priority?: number;
          readonly description?: string;
        }[];
      },
    ];
  };
}

const readCrd = (file: string): Crd => onlyOne(readManifests(file), "CustomResourceDefinition");
const crd = readCrd(path.join(manifestsFolder, "base/crd/podprotectors.yaml"));
const upstream = readCrd(path.join(import.meta.dirname, "upstream-crd.yaml"));
const schemaOf = (definition: Crd): Schema => definition.spec.versions[0].schema.openAPIV3Schema;

/** The fields of a type, by name; the compiler refuses a list that misses one or has one too many. */
type Fields<T> = T extends readonly (infer Element)[]
  ? Fields<Element>
  : T extends string
    ? "leaf"
    : T extends object
      ? string extends keyof T
        ? "map"
        : { readonly [K in keyof T]-?: Fields<NonNullable<T[K]>> }
      : "leaf";

const selector = { matchLabels: "map", matchExpressions: { key: "leaf", operator: "leaf", values: "leaf" } } as const;
const specFields: Fields<PodProtectorSpec> = {
  minAvailable: "leaf",
  minReadySeconds: "leaf",
  selector,
  aggregationSelector: selector,
  healthCriterion: "leaf",
  maxPodsPerCell: "leaf",
  admissionHistoryConfig: { maxConcurrentLag: "leaf", compactThreshold: "leaf", aggregationRateMillis: "leaf" },
  targets: { apiVersion: "leaf", kind: "leaf", name: "leaf", selector },
  foreignOwners: "leaf",
  maxUnavailable: "leaf",
  minAvailablePercent: "leaf",
};
const statusFields: Fields<PodProtectorStatus> = {
  cells: {
    cellID: "leaf",
    aggregation: {
      totalReplicas: "leaf",
      availableReplicas: "leaf",
      readyReplicas: "leaf",
      scheduledReplicas: "leaf",
      runningReplicas: "leaf",
      initializedReplicas: "leaf",
      unseenReplicas: "leaf",
      foreignReplicas: "leaf",
      countedOwners: "leaf",
      lastEventTime: "leaf",
      resourceVersion: "leaf",
      countedAt: "leaf",
      recountedAt: "leaf",
      countedSpec: "leaf",
      countedMinReadySeconds: "leaf",
      countedGeneration: "leaf",
      countedAhead: "leaf",
    },
    admissionHistory: {
      buckets: {
        startTime: "leaf",
        podName: "leaf",
        podUID: "leaf",
        endTime: "leaf",
        counter: "leaf",
        podResourceVersion: "leaf",
        evictionResourceVersion: "leaf",
        podUIDDigests: "leaf",
      },
    },
  },
  summary: {
    totalReplicas: "leaf",
    aggregatedAvailableReplicas: "leaf",
    estimatedAvailableReplicas: "leaf",
    maxLatencyMillis: "leaf",
    aggregatedReady: "leaf",
    aggregatedScheduled: "leaf",
    aggregatedRunning: "leaf",
    aggregatedInitialized: "leaf",
    promised: "leaf",
    disruptionsAllowed: "leaf",
    countedCells: "leaf",
  },
  conditions: {
    type: "leaf",
    status: "leaf",
    reason: "leaf",
    message: "leaf",
    lastTransitionTime: "leaf",
    observedGeneration: "leaf",
  },
};

type Shape = "leaf" | "map" | { readonly [name: string]: Shape };

/** The fields of a schema, those that `isLeftOut` names excepted. */
function shapeOf(schema: Schema, isLeftOut: (schema: Schema) => boolean = () => false): Shape {
  if (schema.items !== undefined) return shapeOf(schema.items, isLeftOut);
  if (schema.additionalProperties !== undefined) return "map";
  if (schema.properties === undefined) return "leaf";
  const kept = Object.entries(schema.properties).filter(([, property]) => !isLeftOut(property));
  return Object.fromEntries(kept.map(([name, property]) => [name, shapeOf(property, isLeftOut)]));
}

const isExtension = (schema: Schema): boolean => schema.description?.startsWith("Extension.") ?? false;

/** A schema with only what JSON Schema knows too. Formats are left to the API server. */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (typeof schema !== "object" || schema === null) return schema;
  if ("x-kubernetes-int-or-string" in schema) {
    const { pattern, minimum } = schema as { readonly pattern?: string; readonly minimum?: number };
    return {
      anyOf: [
        { type: "integer", minimum },
        { type: "string", pattern },
      ],
    };
  }
  const kept = Object.entries(schema).filter(
    ([key, value]) => !key.startsWith("x-") && !(key === "format" && typeof value === "string"),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, plain(value)]));
}

test("the CRD has the fields of the TypeScript types, no more and no fewer", () => {
  const wanted: Fields<Omit<PodProtector, "metadata">> & { readonly metadata: "leaf" } = {
    apiVersion: "leaf",
    kind: "leaf",
    metadata: "leaf",
    spec: specFields,
    status: statusFields,
  };
  assert.deepEqual(shapeOf(schemaOf(crd)), wanted);
});

test("without the fields marked as extensions the CRD has exactly upstream's fields", () => {
  assert.deepEqual(shapeOf(schemaOf(crd), isExtension), shapeOf(schemaOf(upstream)));
});

test("upstream's CRD has no extension field and no rule", () => {
  assert.doesNotMatch(
    JSON.stringify(upstream),
    /Extension|podResourceVersion|evictionResourceVersion|countedSpec|x-kubernetes-validations/,
  );
});

test("no extension field is required, so that objects without them stay valid", () => {
  const requiredExtensions = (schema: Schema): string[] => [
    ...(schema.required ?? []).filter(
      (name) => schema.properties?.[name] !== undefined && isExtension(schema.properties[name]),
    ),
    ...(schema.items === undefined ? [] : requiredExtensions(schema.items)),
    ...Object.values(schema.properties ?? {}).flatMap(requiredExtensions),
  ];
  assert.deepEqual(requiredExtensions(schemaOf(crd)), []);
});

test("each printer column shows the field that its name promises", () => {
  const columns = crd.spec.versions[0].additionalPrinterColumns;
  assert.deepEqual(
    columns.map(({ name, jsonPath, priority = 0 }) => [name, jsonPath, priority]),
    [
      ["Must Stay", ".spec.minAvailable", 0],
      ["Available", ".status.summary.aggregatedAvailableReplicas", 0],
      ["Promised", ".status.summary.promised", 0],
      ["Free", ".status.summary.disruptionsAllowed", 0],
      ["Cells", ".status.summary.countedCells", 0],
      ["State", '.status.conditions[?(@.type=="Ready")].reason', 0],
      ["Total", ".status.summary.totalReplicas", 1],
      ["Ready", ".status.summary.aggregatedReady", 1],
      ["Lag ms", ".status.summary.maxLatencyMillis", 1],
      ["Age", ".metadata.creationTimestamp", 0],
    ],
  );
});

test("kubectl explain says what each field and each column is", () => {
  const undescribed = (name: string, schema: Schema): string[] => [
    ...((schema.description ?? "").replace("Extension.", "").length > 10 ? [] : [name]),
    ...Object.entries({ ...schema.properties, ...schema.items?.properties }).flatMap(([field, property]) =>
      undescribed(`${name}.${field}`, property),
    ),
  ];
  // API servers refuse a CRD that describes it, because they have a description of their own.
  assert.deepEqual(schemaOf(crd).properties?.["metadata"], { type: "object" });
  assert.deepEqual(undescribed("podprotectors", schemaOf(crd)), ["podprotectors.metadata"]);
  for (const { name, description } of crd.spec.versions[0].additionalPrinterColumns)
    assert.ok((description ?? "").endsWith("."), name);
});

test("kubectl finds PodProtectors by a short name, and with all of Podseidon's kinds by a category", () => {
  assert.deepEqual(crd.spec.names, {
    kind: "PodProtector",
    listKind: "PodProtectorList",
    plural: "podprotectors",
    singular: "podprotector",
    shortNames: ["ppr"],
    categories: ["podseidon"],
  });
});

test("both selectors carry the rule about operators and values", () => {
  const properties = schemaOf(crd).properties?.["spec"]?.properties;
  for (const name of ["selector", "aggregationSelector"]) {
    const rules = properties?.[name]?.properties?.["matchExpressions"]?.items?.["x-kubernetes-validations"] ?? [];
    assert.deepEqual(
      rules.map(({ rule }) => rule),
      ["(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)"],
      name,
    );
  }
});

const isValid = new Ajv({ strict: true, allErrors: true }).compile(plain(schemaOf(crd)) as object);
const verbs = { schema: "refuses", rule: "leaves to a rule", none: "accepts" } as const;
for (const { name, object, refusedBy } of crdCases) {
  test(`the schema ${verbs[refusedBy ?? "none"]} ${name}`, () => {
    // Through JSON, as it travels: an absent field and one that is undefined are the same there.
    const accepted = isValid(JSON.parse(JSON.stringify(object)));
    // Only an API server evaluates rules, so what a rule refuses passes here.
    assert.equal(accepted, refusedBy !== "schema", JSON.stringify(isValid.errors));
  });
}
