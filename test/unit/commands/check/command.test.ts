import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources as types, type KubeObject } from "../../../double/index.ts";
import { ago, createCellLease, createProtector, forbid, systemNamespace } from "../support/fleet.ts";
import { type CheckedFleet, createCheckedFleet, createElectionLease, editEntries } from "./checked-fleet.ts";

async function onFleet(body: (fleet: CheckedFleet) => Promise<void>): Promise<void> {
  const fleet = await createCheckedFleet();
  try {
    await body(fleet);
    assert.equal(fleet.clock.pendingTimers, 0);
  } finally {
    await fleet.webhook.stop();
  }
}

const definitionName = "podprotectors.podseidon.kubewharf.io";
const { silentSince, productVersion } = cellLeaseAnnotations;

async function editDefinition({ core: { engine } }: CheckedFleet, edited: (crd: KubeObject) => object): Promise<void> {
  const crd = engine.get(types.customResourceDefinitions, undefined, definitionName);
  await engine.installCrd({ ...crd, ...edited(crd) });
}

test("nothing is said of a sound installation, at 80 columns, and the exit code is 0", () =>
  onFleet(async (fleet) => {
    assert.deepEqual(await fleet.check(), []);
    const { exitCode, stdout, stderr } = await fleet.run("check", "--worker=worker-1=my-worker");
    assert.equal(exitCode, 0);
    assert.deepEqual(stderr, []);
    assert.match(stdout, /no failures, no warnings/);
    assert.ok(
      stdout.split("\n").every((line) => line.length <= 80),
      stdout,
    );
  }));

interface Planted {
  readonly fault: string;
  readonly finds: readonly string[];
  readonly plant: (fleet: CheckedFleet) => Promise<unknown>;
}

const faults: readonly Planted[] = [
  {
    fault: "a wrong cell in the URL",
    finds: ["fail webhook-cell", "fail gate"],
    async plant(fleet) {
      fleet.gate = "worker-9";
      await editEntries(fleet, (entry) => ({ ...entry, clientConfig: fleet.webhook.clientConfig("worker-9") }));
    },
  },
  {
    fault: "two clusters under one cell",
    finds: ["fail cell-shared"],
    async plant({ core: { engine } }) {
      const { items } = engine.list(types.leases, systemNamespace, {});
      const lease = items.find(({ metadata }) => metadata.labels?.["podseidon.kubewharf.io/cell"] === "worker-1");
      assert(lease !== undefined);
      const annotations = { ...lease.metadata.annotations, [cellLeaseAnnotations.clusterUID]: "another" };
      const metadata = { ...lease.metadata, annotations };
      await engine.update(types.leases, systemNamespace, lease.metadata.name, { ...lease, metadata });
    },
  },
  {
    fault: "a silent cell",
    finds: ["fail cell-silent"],
    plant: ({ core, clock }) =>
      createCellLease(core, clock, "gone", { annotations: { [silentSince]: ago(clock, 600_000) } }),
  },
  {
    fault: "a caBundle that does not match",
    finds: ["fail ca-bundle"],
    plant: ({ webhook }) => webhook.replace(365, 0),
  },
  {
    fault: "an expired certificate",
    finds: ["fail certificate"],
    plant: ({ webhook }) => webhook.replace(10, 20),
  },
  {
    fault: "a certificate that expires soon",
    finds: ["warn certificate", "warn certificate"],
    async plant(fleet) {
      await fleet.webhook.replace(100, 90);
      await editEntries(fleet, (entry) => ({ ...entry, clientConfig: fleet.webhook.clientConfig() }));
    },
  },
  {
    fault: "a missing right",
    finds: ["fail right"],
    plant: async ({ denied }) => denied.add("podseidon-aggregator list pods"),
  },
  {
    fault: "a policy without its binding",
    finds: ["fail policy"],
    plant: async ({ lost }) => lost.add("ValidatingAdmissionPolicyBinding podseidon-aggregator-status"),
  },
  {
    fault: "a policy that is missing",
    finds: ["fail policy"],
    plant: async ({ lost }) => lost.add("ValidatingAdmissionPolicy podseidon-fence"),
  },
  {
    fault: "a CRD that prunes",
    finds: ["fail crd-prunes"],
    plant: (fleet) =>
      editDefinition(fleet, ({ spec }) => {
        const text = JSON.stringify(spec);
        return { spec: JSON.parse(text.replace('"initializedReplicas":', '"former":')) as object };
      }),
  },
  {
    fault: "no webhook configuration",
    finds: ["fail webhook-configuration", "fail gate"],
    async plant(fleet) {
      fleet.gate = undefined;
      await fleet.worker.engine.delete(types.validatingWebhookConfigurations, undefined, "podseidon");
    },
  },
  {
    fault: "a webhook configuration that points elsewhere",
    finds: ["fail gate"],
    plant: async (fleet) => void (fleet.gate = undefined),
  },
  {
    fault: "failurePolicy Ignore",
    finds: ["warn failure-policy"],
    plant: (fleet) => editEntries(fleet, (entry) => ({ ...entry, failurePolicy: "Ignore" })),
  },
  {
    fault: "a namespace that its label takes out of the webhook configuration",
    finds: ["fail guarded"],
    async plant(fleet) {
      const { engine } = fleet.worker;
      const shop = engine.get(types.namespaces, undefined, "shop");
      const metadata = { ...shop.metadata, labels: { "control-plane": "true" } };
      await engine.update(types.namespaces, undefined, "shop", { ...shop, metadata });
      const added = { key: "control-plane", operator: "NotIn", values: ["true"] };
      await editEntries(fleet, (entry) => ({ ...entry, namespaceSelector: { matchExpressions: [added] } }));
    },
  },
  {
    fault: "a clock that is far off",
    finds: ["warn clock"],
    plant: async ({ aheadMs }) => aheadMs.set("my-worker", 120_000),
  },
  {
    fault: "a generator that is away, with finalizers left",
    finds: ["fail generator"],
    async plant(fleet) {
      await fleet.core.engine.delete(types.leases, systemNamespace, "podseidon-generator");
      await createElectionLease(fleet, 600_000);
      await createProtector(fleet.core, "held", { metadata: { finalizers: [finalizer] } });
    },
  },
  ...(["Undrainable", "Dangling", "ChangeHeld", "Implausible"] as const).map((type) => ({
    fault: `a PodProtector with the condition ${type}`,
    finds: [
      {
        Undrainable: "warn undrainable",
        Dangling: "warn dangling",
        ChangeHeld: "warn change-held",
        Implausible: "fail implausible",
      }[type],
    ],
    plant: ({ core }: CheckedFleet) => createProtector(core, "told", { conditions: [{ type }] }),
  })),
  {
    fault: "a ghost cell",
    finds: ["warn ghost-cell"],
    plant: ({ core, clock }) => {
      const buckets = [{ startTime: ago(clock, 1_000), podUID: "u", podName: "p" }] as never;
      return createProtector(core, "haunted", { cells: [{ cellID: "worker-l", admissionHistory: { buckets } }] });
    },
  },
  {
    fault: "a tombstone in force",
    finds: ["warn tombstone"],
    plant: ({ core, clock }) =>
      core.create(types.events, "shop", {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "lost.1" },
        involvedObject: { kind: "PodProtector", namespace: "shop", name: "lost", uid: "u" },
        reason: "PodProtectorLost",
        message: "It is gone",
        source: { component: "podseidon-webhook" },
        lastTimestamp: ago(clock, 1_000),
      }),
  },
  {
    fault: "a webhook that answers without a client certificate",
    finds: ["warn client-certificate"],
    plant: async ({ webhook }) => void (webhook.status = 405),
  },
  {
    fault: "a CRD and a generator of different releases",
    finds: ["warn release"],
    plant: (fleet) =>
      editDefinition(fleet, ({ metadata }) => ({
        metadata: { ...metadata, annotations: { [productVersion]: "0.0.9" } },
      })),
  },
];

for (const { fault, finds, plant } of faults) {
  test(`${fault} is found in clusters that otherwise are sound`, () =>
    onFleet(async (fleet) => {
      await plant(fleet);
      assert.deepEqual(await fleet.check(), finds);
    }));
}

test("a failure ends with exit code 1, warnings alone with 0", () =>
  onFleet(async (fleet) => {
    fleet.webhook.status = 405;
    assert.equal((await fleet.run("check", "--worker=worker-1=my-worker")).exitCode, 0);
    fleet.gate = new KubeError("serverError", '500: failed calling webhook "podseidon.kubewharf.io": refused');
    assert.equal((await fleet.run("check", "--worker=worker-1=my-worker")).exitCode, 1);
  }));

test("a person without rights reads what is missing, and no word of what was not looked at", () =>
  onFleet(async (fleet) => {
    forbid(fleet.core, /leases|podprotectors|customresource|configmaps|events|deployments|namespaces/);
    const { stdout, exitCode } = await fleet.run("check", "--worker=worker-1=my-worker");
    assert.equal(exitCode, 0);
    assert.match(stdout, /\?     cells: not checked, core: you may not list\s+leases/);
    assert.doesNotMatch(stdout, /ok {4}(?:cell|generator|the CRD)/);
  }));

test("a cluster that does not answer is given up after seconds, and named", () =>
  onFleet(async (fleet) => {
    const { client } = fleet.core;
    client.request = ({ signal, timeoutMs }) =>
      new Promise((_, reject) => {
        const fail = (): void => reject(new KubeError("aborted", "aborted"));
        signal?.addEventListener("abort", fail);
        if (timeoutMs !== undefined) fleet.clock.setTimer(timeoutMs, fail);
      });
    const started = fleet.clock.monotonicMs();
    const running = fleet.run("check");
    for (let round = 0; round < 12; round += 1) await fleet.clock.advance(1_000);
    const { stdout, exitCode } = await running;
    assert.match(stdout, /FAIL {2}core does not answer: core gave no answer within 2 s/);
    assert.equal(exitCode, 1);
    assert.ok(fleet.clock.monotonicMs() - started <= 12_000);
  }));

test("without workers a core that is its own worker is looked at, and another one asks for them", () =>
  onFleet(async (fleet) => {
    assert.match((await fleet.run("check")).stdout, /worker clusters: not checked, give each by --worker CELL=CONTEXT/);
    const { stdout } = await fleet.run("check", "--core=my-worker");
    assert.match(stdout, /^core as worker$/m);
  }));

test("values that mean nothing are wrong usage", () =>
  onFleet(async (fleet) => {
    for (const args of [["--output=xml"], ["--dummy-pod=x"], ["--worker=x"], ["--core=nowhere"]]) {
      const { exitCode, problem } = await fleet.run("check", ...args);
      assert.equal(exitCode, 2);
      assert.match(problem ?? "", /^check: /);
    }
  }));
