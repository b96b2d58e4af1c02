import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type CoreFacts, type Facts, type WorkerFacts } from "../../../../src/commands/check/facts.ts";
import { type Finding } from "../../../../src/commands/check/finding.ts";
import { judge } from "../../../../src/commands/check/judge.ts";
import { ownDefinition } from "../../../../src/carried/definition.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import {
  before,
  cell,
  core,
  deployment,
  entries,
  facts,
  now,
  protector,
  read,
  said,
  saidOf,
  unread,
  worker,
} from "./sound-facts.ts";

const [first, second] = [worker("worker-1"), worker("worker-2")];
const withCore = (fields: Partial<CoreFacts>): Partial<Facts> => ({ cores: [core(fields)] });
const withWorker = (fields: Partial<WorkerFacts>): Partial<Facts> => ({ workers: [first, worker("worker-2", fields)] });
const withCells = (...cells: readonly ReturnType<typeof cell>[]): Partial<Facts> =>
  withCore({ heartbeats: read({ cells, observer: undefined }) });
const withProtector = (options: Parameters<typeof protector>[1]): Partial<Facts> =>
  withCore({ protectors: read({ valid: [protector("api", options)], invalid: [] }) });

test("of a fleet in good order nothing is said but what is in order", () => {
  assert.deepEqual(said(judge(facts())), []);
});

interface Planted {
  readonly fault: string;
  readonly facts: Partial<Facts>;
  readonly finds: readonly string[];
}

const url = "https://podseidon.example.com/worker-2";
const served = { distrust: undefined, validFrom: before(86_400), validTo: before(-200 * 86_400), status: 401 };
const withServed = (fields: Partial<typeof served | { distrust: string }>): Partial<Facts> =>
  withWorker({ served: new Map([[url, read({ ...served, ...fields })]]) });
const pod = "podseidon-update-trigger/podseidon-update-trigger";
const silentMark = { [cellLeaseAnnotations.silentSince]: formatMicroTime(before(300)) };
const pruning = {
  ...ownDefinition(),
  spec: { versions: [{ name: "v1alpha1", served: true, subresources: { status: {} } }] },
};
const otherRelease = {
  ...ownDefinition(),
  metadata: { annotations: { [cellLeaseAnnotations.productVersion]: "0.0.9" } },
};
const bucket = { startTime: "2026-01-01T00:00:00Z", podUID: "u", podName: "p" };

const faults: readonly Planted[] = [
  {
    fault: "a wrong cell in the URL",
    facts: withWorker({ entries: read(entries("https://podseidon.example.com/worker-3")) }),
    finds: ["fail webhook-cell"],
  },
  {
    fault: "two clusters under one cell",
    facts: {
      ...withCells(cell("worker-1")),
      workers: [
        first,
        worker("worker-2", {
          isNamed: false,
          entries: read(entries("https://podseidon.example.com/worker-1")),
          deployments: read([deployment("aggregator", { flags: new Map([["aggregator-cell-id", "worker-1"]]) })]),
          gates: new Map([[pod, { kind: "other-cell", cell: "worker-1" }]]),
        }),
      ],
    },
    finds: ["fail cell-shared"],
  },
  {
    fault: "a silent cell",
    facts: withCells(cell("worker-1"), cell("worker-2", { annotations: silentMark })),
    finds: ["fail cell-silent"],
  },
  {
    fault: "a caBundle that does not match",
    facts: withServed({ distrust: "unable to verify the first certificate" }),
    finds: ["fail ca-bundle"],
  },
  { fault: "an expired certificate", facts: withServed({ validTo: before(86_400) }), finds: ["fail certificate"] },
  {
    fault: "a certificate that expires soon",
    facts: withServed({ validFrom: before(300 * 86_400), validTo: before(-10 * 86_400) }),
    finds: ["warn certificate"],
  },
  {
    fault: "a missing right",
    facts: withWorker({ rights: read([{ account: "a", right: "list pods", isGranted: false }]) }),
    finds: ["fail right"],
  },
  { fault: "a CRD that prunes", facts: withCore({ definition: read(pruning) }), finds: ["fail crd-prunes"] },
  {
    fault: "no webhook configuration",
    facts: withWorker({ entries: read([]), gates: new Map([[pod, { kind: "missing" }]]), served: new Map() }),
    finds: ["fail webhook-configuration", "fail gate"],
  },
  {
    fault: "a webhook configuration that points elsewhere",
    facts: withWorker({ gates: new Map([[pod, { kind: "missing" }]]) }),
    finds: ["fail gate"],
  },
  {
    fault: "failurePolicy Ignore",
    facts: withWorker({ entries: read(entries(url, { failurePolicy: "Ignore" })) }),
    finds: ["warn failure-policy"],
  },
  {
    fault: "a clock that is far off",
    facts: withWorker({ clock: read({ server: before(120), own: now }) }),
    finds: ["warn clock"],
  },
  {
    fault: "no generator, and finalizers that are left",
    facts: {
      cores: [
        core({
          generator: read({ holder: "g", renewedAt: before(600), writtenAt: before(600) }),
          protectors: read({ valid: [protector("api", { metadata: { finalizers: [finalizer] } })], invalid: [] }),
        }),
      ],
    },
    finds: ["fail generator"],
  },
  {
    fault: "an undrainable workload",
    facts: withProtector({ conditions: ["Undrainable"] }),
    finds: ["warn undrainable"],
  },
  { fault: "a dangling PodProtector", facts: withProtector({ conditions: ["Dangling"] }), finds: ["warn dangling"] },
  { fault: "a held change", facts: withProtector({ conditions: ["ChangeHeld"] }), finds: ["warn change-held"] },
  {
    fault: "a ghost cell",
    facts: withProtector({ cells: [{ cellID: "worker-l", admissionHistory: { buckets: [bucket] } }] }),
    finds: ["warn ghost-cell"],
  },
  {
    fault: "a tombstone in force",
    facts: withCore({
      protectorEvents: read([
        {
          protector: objectKey("shop", "lost"),
          uid: "u",
          reason: "PodProtectorLost",
          message: "It is gone",
          count: 1,
          lastAt: before(60),
          component: "podseidon-webhook",
        },
      ]),
    }),
    finds: ["warn tombstone"],
  },
  {
    fault: "a webhook that answers without a client certificate",
    facts: withServed({ status: 405 }),
    finds: ["warn client-certificate"],
  },
  {
    fault: "a CRD and a generator of different releases",
    facts: withCore({ definition: read(otherRelease) }),
    finds: ["warn release"],
  },
];

for (const { fault, facts: planted, finds } of faults) {
  test(`${fault} is found, and nothing else`, () => {
    const found = judge(facts(planted));
    assert.deepEqual(
      said(found).filter((one) => one !== "unchecked release"),
      finds,
    );
    for (const finding of wrong(found.flatMap(({ findings }) => findings))) assertHelps(finding);
  });
}

function wrong(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ level }) => level === "fail" || level === "warn");
}

/** Names a cure, and a page with that heading. */
function assertHelps({ text, cure, page = "" }: Finding): void {
  assert.ok(cure !== undefined && cure.length > 10, text);
  const [file = "", heading] = page.split("#");
  const url = new URL(`../../../../${file}`, import.meta.url);
  assert.ok(existsSync(url), page);
  if (heading === undefined) return;
  const headings = readFileSync(url, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("#"));
  assert.ok(
    headings.some((line) => slug(line) === heading),
    page,
  );
}

/** As pages of repositories make links of headings. */
function slug(line: string): string {
  const text = line.replace(/^#+ /, "").toLowerCase();
  return text.replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-");
}

test("what cannot be read is said to be unchecked, and never to be in order", () => {
  const nothing = Object.fromEntries(Object.keys(core()).map((key) => [key, unread])) as unknown as CoreFacts;
  const noWorker = Object.fromEntries(Object.keys(first).map((key) => [key, unread])) as unknown as WorkerFacts;
  const groups = judge(
    facts({
      cores: [{ ...nothing, name: "core", answers: read({}) }],
      workers: [
        { ...noWorker, name: "worker-1", isNamed: true, answers: read({}), gates: new Map(), served: new Map() },
      ],
    }),
  );
  const levels = new Set(groups.flatMap(({ findings }) => findings.map(({ level }) => level)));
  assert.deepEqual([...levels], ["unchecked"]);
});

test("a cell whose worker was not given is said to be unchecked there", () => {
  assert.deepEqual(saidOf({ workers: [first] }), ["unchecked worker"]);
  assert.deepEqual(saidOf({ workers: [] }), ["unchecked worker", "unchecked worker", "unchecked worker"]);
});

test("with several cores the groups name them", () => {
  const titles = judge(facts({ cores: [core(), core({ name: "osaka" })] })).map(({ title }) => title);
  assert.deepEqual(
    titles.filter((title) => title.includes("osaka")),
    ["osaka", "cells of osaka", "protectors of osaka"],
  );
});

test("a cluster that is core and worker at once has one group for each part", () => {
  const own = worker("worker-1", { name: "core", isNamed: false });
  const groups = judge(facts({ workers: [own, second] }));
  assert.ok(groups.some(({ title }) => title === "core as worker"));
  assert.deepEqual(said(groups), []);
  const rights = read([{ account: "podseidon-aggregator", right: "list pods", isGranted: false }]);
  assert.deepEqual(saidOf({ workers: [{ ...own, rights }, second] }), ["fail right"]);
});

test("a cluster that does not answer is a failure, and nothing else is said of it", () => {
  assert.deepEqual(saidOf({ workers: [first, { ...second, answers: unread, clock: unread }] }), [
    "fail cluster",
    "unchecked clock",
  ]);
});
