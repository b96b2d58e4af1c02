/**
 * PodProtectors that the CRD must accept or refuse. The unit tests try the schema on them; `make e2e` may send them to
 * a real API server (`dryRun=All`), which evaluates the rules as well.
 */
import type { MicroTime } from "../../../src/api/micro-time.ts";
import type { ResourceVersion } from "../../../src/api/resource-version.ts";
import type { PodProtectorSpec, PodProtectorStatus } from "../../../src/api/v1alpha1/pod-protector.ts";

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

const plainSpec: PodProtectorSpec = { minAvailable: 2, minReadySeconds: 0, selector: { matchLabels: { app: "a" } } };

function object(spec: unknown, status?: unknown): CrdCase["object"] {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "crd-case", namespace: "default" },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

const expression = (requirement: object): unknown => ({ ...plainSpec, selector: { matchExpressions: [requirement] } });
const follows = (fields: object): unknown => ({ ...plainSpec, ...fields });
const config = (admissionHistoryConfig: object): unknown => ({ ...plainSpec, admissionHistoryConfig });

const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: -3 };
const time = "2026-11-20T12:00:00.123456Z" as MicroTime;

/** As a Go webhook and aggregator write it: a single and a compacted bucket, an empty cell. */
const goStatus: PodProtectorStatus = {
  cells: [
    {
      cellID: "a",
      aggregation: { totalReplicas: 3, availableReplicas: 3, readyReplicas: 3, lastEventTime: time },
      admissionHistory: {
        buckets: [
          { startTime: time, endTime: time, counter: 1 },
          { startTime: time, podUID: "11111111-2222-3333-4444-555555555555" },
        ],
      },
    },
    { cellID: "", aggregation: { totalReplicas: 0, availableReplicas: 0 }, admissionHistory: {} },
  ],
  summary,
};

/** The largest packed bucket: 2,000 digests of 8 bytes. */
const digests = Buffer.alloc(16_000, 7).toString("base64");
const extendedStatus: PodProtectorStatus = {
  cells: [
    {
      cellID: "a",
      aggregation: {
        totalReplicas: 3,
        availableReplicas: 3,
        initializedReplicas: 3,
        resourceVersion: "123" as ResourceVersion,
        countedAt: time,
        recountedAt: time,
        countedSpec: "abc",
      },
      admissionHistory: {
        buckets: [
          {
            startTime: time,
            endTime: time,
            counter: 2000,
            podResourceVersion: "99" as ResourceVersion,
            podUIDDigests: digests,
          },
        ],
      },
    },
  ],
  summary: { ...summary, aggregatedInitialized: 3, promised: 1, disruptionsAllowed: 2, countedCells: 1 },
  conditions: [
    {
      type: "Dangling",
      status: "True",
      reason: "SourceGone",
      message: "",
      lastTransitionTime: "2026-11-20T12:00:00Z",
      observedGeneration: 1,
    },
  ],
};

const bucketStatus = (bucket: object): unknown => ({
  cells: [{ cellID: "a", admissionHistory: { buckets: [bucket] } }],
  summary,
});

const cellStatus = (cellID: string): unknown => ({ cells: [{ cellID }], summary });

export const crdCases: readonly CrdCase[] = [
  { name: "an empty selector", object: object({ ...plainSpec, selector: {} }), refusedBy: undefined },
  {
    name: "the same value twice in a selector",
    object: object(expression({ key: "a", operator: "In", values: ["x", "x"] })),
    refusedBy: undefined,
  },
  {
    name: "Exists with an empty list of values",
    object: object(expression({ key: "a", operator: "Exists", values: [] })),
    refusedBy: undefined,
  },
  {
    name: "zeros where they are allowed",
    object: object(config({ maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMillis: 0 })),
    refusedBy: undefined,
  },
  { name: "the status of Go components", object: object(plainSpec, goStatus), refusedBy: undefined },
  { name: "a status with all extension fields", object: object(plainSpec, extendedStatus), refusedBy: undefined },

  {
    name: "the longest name of a cell, UID and name of a pod",
    object: object(plainSpec, {
      cells: [
        {
          cellID: "c".repeat(63),
          admissionHistory: {
            buckets: [{ startTime: time, podName: "p".repeat(253), podUID: "u".repeat(128) }],
          },
        },
      ],
      summary,
    }),
    refusedBy: undefined,
  },

  {
    name: "a percentage of the workloads that are named and selected",
    object: object(
      follows({
        maxUnavailable: "25%",
        targets: [
          { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
          { apiVersion: "example.com/v1", kind: "Database", selector: { matchLabels: { app: "web" } } },
        ],
      }),
    ),
    refusedBy: undefined,
  },
  { name: "a number that may be away", object: object(follows({ maxUnavailable: 0 })), refusedBy: undefined },
  { name: "a share that must stay", object: object(follows({ minAvailablePercent: 100 })), refusedBy: undefined },

  ...["101%", "-1%", "1.5%", "some", "3", -1, 1.5].map((maxUnavailable): CrdCase => {
    const name = `a maxUnavailable of ${JSON.stringify(maxUnavailable)}`;
    return { name, object: object(follows({ maxUnavailable })), refusedBy: "schema" };
  }),
  { name: "a share above 100", object: object(follows({ minAvailablePercent: 101 })), refusedBy: "schema" },
  { name: "no target at all", object: object(follows({ maxUnavailable: 1, targets: [] })), refusedBy: "schema" },
  {
    name: "a target without kind",
    object: object(follows({ maxUnavailable: 1, targets: [{ apiVersion: "apps/v1", name: "web" }] })),
    refusedBy: "schema",
  },
  {
    name: "maxUnavailable and minAvailablePercent",
    object: object(follows({ maxUnavailable: 1, minAvailablePercent: 80 })),
    refusedBy: "rule",
  },
  {
    name: "targets without maxUnavailable",
    object: object(follows({ targets: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web" }] })),
    refusedBy: "rule",
  },
  {
    name: "a target with neither name nor selector",
    object: object(follows({ maxUnavailable: 1, targets: [{ apiVersion: "apps/v1", kind: "Deployment" }] })),
    refusedBy: "rule",
  },

  { name: "no spec", object: object(undefined), refusedBy: "schema" },
  { name: "no minReadySeconds", object: object({ minAvailable: 1, selector: {} }), refusedBy: "schema" },
  { name: "a negative minAvailable", object: object({ ...plainSpec, minAvailable: -1 }), refusedBy: "schema" },
  {
    name: "a minAvailable that is a percentage",
    object: object({ ...plainSpec, minAvailable: "50%" }),
    refusedBy: "schema",
  },
  { name: "a negative minReadySeconds", object: object({ ...plainSpec, minReadySeconds: -1 }), refusedBy: "schema" },
  {
    name: "an unknown operator",
    object: object(expression({ key: "a", operator: "Gt", values: ["1"] })),
    refusedBy: "schema",
  },
  { name: "a requirement without key", object: object(expression({ operator: "Exists" })), refusedBy: "schema" },
  { name: "a negative maxConcurrentLag", object: object(config({ maxConcurrentLag: -1 })), refusedBy: "schema" },
  { name: "a compactThreshold of 0", object: object(config({ compactThreshold: 0 })), refusedBy: "schema" },
  {
    name: "a negative aggregationRateMillis",
    object: object(config({ aggregationRateMillis: -1 })),
    refusedBy: "schema",
  },
  { name: "a bucket without startTime", object: object(plainSpec, bucketStatus({ podUID: "a" })), refusedBy: "schema" },
  {
    name: "a name of a cell that is too long",
    object: object(plainSpec, cellStatus("c".repeat(64))),
    refusedBy: "schema",
  },
  {
    name: "a UID that is too long",
    object: object(plainSpec, bucketStatus({ startTime: time, podUID: "u".repeat(129) })),
    refusedBy: "schema",
  },
  {
    name: "a name of a pod that is too long",
    object: object(plainSpec, bucketStatus({ startTime: time, podName: "p".repeat(254) })),
    refusedBy: "schema",
  },
  {
    name: "a bucket with a negative counter",
    object: object(plainSpec, bucketStatus({ startTime: time, counter: -1 })),
    refusedBy: "schema",
  },

  { name: "In without values", object: object(expression({ key: "a", operator: "In" })), refusedBy: "rule" },
  {
    name: "NotIn with an empty list of values",
    object: object(expression({ key: "a", operator: "NotIn", values: [] })),
    refusedBy: "rule",
  },
  {
    name: "Exists with a value",
    object: object(expression({ key: "a", operator: "Exists", values: ["x"] })),
    refusedBy: "rule",
  },
  {
    name: "an aggregationSelector with In without values",
    object: object({ ...plainSpec, aggregationSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
    refusedBy: "rule",
  },
];
