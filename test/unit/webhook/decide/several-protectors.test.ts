/**
 * Several PodProtectors on one pod (docs/webhook.md#several-podprotectors), in force, without a floor
 * (docs/accounting.md#what-is-recorded) and in shadow. What becomes of each is in told/several-protectors.txt.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, evictReview, type Json, pod, type PodParts, protector } from "../support/objects.ts";
import { createReplica, settle, world } from "../support/replica.ts";
import { atFloor, roomy, type Happening, tellsAll } from "../support/told.ts";
import { workerOf } from "../support/worker.ts";

/** With so many pods, of which 80 must stay. */
const having = (name: string, count: number) => protector({ name, cells: [cell("c1", count)] });
const deleted = (parts: PodParts = {}, extra: Json = {}) => deleteReview(pod("p", parts), extra);
const noFloor = (minAvailable = 0, cells: readonly Json[] = [cell("c1", 1)]): Json =>
  protector({ minAvailable, cells });

function withMetadata(object: Json, more: Json): Json {
  return { ...object, metadata: { ...(object["metadata"] as Json), ...more } };
}
const shadow = { annotations: { [annotations.mode]: "shadow" } };
const shadowed = (name = "web", count = 80) => withMetadata(having(name, count), shadow);

/** Another replica takes the last place of b while this one writes to a. */
const overtaken: Happening = ({ core, clock, replica }) => {
  core.watches = false;
  const answer = replica.send(deleted());
  core.update("ns/b", (status) => {
    status.cells = [cell("c1", 81, {}, [{ startTime: "2026-01-01T00:00:00Z", podUID: "x", podResourceVersion: "1" }])];
  });
  return settle(clock, answer);
};

/** What is known of b changes while a is written. */
const remade: Happening = ({ core, clock, replica }) => {
  core.script = ({ path }) => {
    core.script = () => "none";
    assert.match(path, /podprotectors.a/);
    core.remove("ns/b");
    core.put(having("b", 80));
    return "none";
  };
  return settle(clock, replica.send(deleted()));
};

/** The aggregator has counted more pods since, but the watch, which has been silent for so long, does not say so. */
const behind =
  (silentMs: number, count = 90): Happening =>
  ({ core, replica }) => {
    core.watches = false;
    core.update("ns/web", (status) => void (status.cells = [cell("c1", count)]));
    replica.informers[0]!.silence = silentMs;
  };

const refusing =
  (refuse: "forbidden" | "network" | "serverError", isWrite = false): Happening =>
  ({ core }) => {
    core.script = ({ method }) => (isWrite && method !== "PUT" ? "none" : { refuse });
  };

tellsAll(new URL("told/several-protectors.txt", import.meta.url), {
  "the webhook writes nothing when any PodProtector would refuse": {
    of: [having("a", 100), having("b", 80)],
    do: [deleted()],
  },
  "the webhook names the first PodProtector that refuses and lists all of them as causes": {
    of: [having("b", 80), having("a", 80), having("c", 100)],
    do: [deleted()],
  },
  "the webhook treats protectors of one name in two cores as separate budgets that must agree": {
    of: { east: [roomy()], west: [atFloor()] },
    do: [deleted()],
  },
  "the webhook keeps earlier records when a later PodProtector refuses after all": {
    of: [having("a", 100), having("b", 81)],
    do: [overtaken],
  },
  "the webhook asks a PodProtector as it is, when it is made anew while another is written": {
    of: [having("a", 100), having("b", 100)],
    do: [remade, deleteReview(pod("q"))],
  },
  "the webhook does not ask later PodProtectors when an earlier one refuses while recording": {
    of: [having("a", 100), having("b", 100)],
    do: [
      ({ core }) => {
        core.script = ({ path }) => (path.includes("/a/") ? { refuse: "notFound", code: 404 } : "none");
      },
      deleted(),
    ],
  },
  "the webhook answers 500 when a core forbids the write, and names no quota": {
    of: [roomy()],
    do: [refusing("forbidden"), deleted()],
  },
  "the webhook refuses an eviction whose cell client is unknown with the words of upstream": {
    of: [protector()],
    with: { workers: { kind: "map", clients: new Map() } },
    do: [evictReview("p")],
  },

  // A watch that has lost its connection silently must not refuse for minutes what would be admitted.
  "before a refusal by a possibly old state, the PodProtector is read live once and judged by that": {
    of: [atFloor()],
    do: [behind(5_001), deleted()],
  },
  "before a refusal by a possibly old state, a broken watch is noticed at once": {
    of: [atFloor()],
    do: [
      behind(0),
      ({ replica }) => void (replica.informers[0]!.error = "cannot watch podprotectors: connection refused"),
      deleted(),
    ],
  },
  "before a refusal by a possibly old state, nothing is read while the watch delivers": {
    of: [atFloor()],
    do: [behind(5_000), deleted()],
  },
  "before a refusal by a possibly old state, a core that hangs delays the refusal by a second at most": {
    of: [atFloor()],
    do: [
      behind(60_000),
      ({ core }) => {
        core.script = ({ timeoutMs }) => {
          assert.equal(timeoutMs, 1_000);
          core.latencyMs = timeoutMs;
          return { refuse: "timeout" };
        };
      },
      deleted(),
    ],
  },
  "before a refusal by a possibly old state, a dry run reads nothing": {
    of: [atFloor()],
    do: [behind(60_000), deleted({}, { dryRun: true })],
  },

  "a PodProtector without a floor admits whatever the counts say, and records it": [0, -1].map((minAvailable) => ({
    of: [noFloor(minAvailable, [cell("c1", 0)])],
    do: [deleted(), deleteReview(pod("q"))],
  })),
  "a PodProtector without a floor admits when the cell has no counts, or those of another spec": [
    { of: [noFloor(0, [])], do: [deleted()] },
    { of: [noFloor(0, [cell("c1", 5, { countedSpec: "another" })])], do: [deleted()] },
  ],
  "a PodProtector without a floor admits when its core takes no writes, and counts that": {
    of: [noFloor()],
    do: [refusing("forbidden", true), deleted(), refusing("network"), deleteReview(pod("q"))],
  },
  "the webhook refuses when a newer state of a PodProtector without a floor has one": {
    of: [noFloor(0, [cell("c1", 2)])],
    do: [
      ({ core }) => {
        core.watches = false;
        core.put(protector({ minAvailable: 2, cells: [cell("c1", 2)] }));
      },
      deleted(),
    ],
  },
  "a PodProtector without a floor lifts no other's": {
    of: [noFloor(), protector({ name: "zone", minAvailable: 2, cells: [cell("c1", 2)] })],
    do: [deleted()],
  },
  "the eviction of a pod that has finished is allowed without counts, and writes nothing": ["Succeeded", "Failed"].map(
    (phase) => ({
      of: [protector()],
      with: workerOf({ ...pod("p", { ready: false }), status: { phase } }),
      do: [evictReview("p")],
    }),
  ),

  "a PodProtector in shadow refuses nothing, records, and says what it would have refused": {
    of: [shadowed()],
    do: [deleted()],
  },
  "a value of the annotation that is not shadow leaves a PodProtector in force": ["Shadow", "off", "enforced", ""].map(
    (value) => ({ of: [withMetadata(atFloor(), { annotations: { [annotations.mode]: value } })], do: [deleted()] }),
  ),
  "a pod under one PodProtector in force and one in shadow is refused by the first alone": [
    { of: [shadowed("a-shadow"), having("enforced", 100)], do: [deleted()] },
    { of: [shadowed("a-shadow"), having("enforced", 80)], do: [deleted()] },
  ],
  "a forced deletion in shadow is in no report, since an enforced PodProtector lets it pass": {
    of: [shadowed()],
    do: [deleted({ annotations: { [annotations.forceDelete]: "" } })],
  },
  "a dry-run request in shadow is told what would be refused, and is neither recorded nor reported": {
    of: [shadowed()],
    do: [deleted({}, { dryRun: true })],
  },
  "a PodProtector in shadow that vanishes, or turns invalid, does not begin to refuse": {
    of: [shadowed("gone"), shadowed("invalid")],
    do: [
      ({ core }) => {
        core.remove("ns/gone");
        core.put({ ...shadowed("invalid"), spec: { minAvailable: "many" } });
      },
      deleted(),
    ],
  },
  "a core that takes no writes refuses nothing in shadow": {
    of: [shadowed("web", 100)],
    do: [refusing("serverError"), deleted(), refusing("forbidden"), deleteReview(pod("q"))],
  },
  "evictions that would be refused are told apart from deletions": {
    of: [shadowed()],
    with: workerOf(pod("p")),
    do: [evictReview("p")],
  },
  "a deletion that is reviewed again, because its pod has changed meanwhile, is reported once": {
    of: [shadowed()],
    do: [deleted({ resourceVersion: "10" }), deleted({ resourceVersion: "11" })],
  },
});

for (const [what, options, object] of [
  ["in shadow", {}, shadowed("web", 82)],
  ["with --webhook-dry-run", { dryRun: true }, having("web", 82)],
] as const) {
  test(`deletions at the same time are judged ${what} one after the other, as if enforced`, async () => {
    const { clock, core, replica } = world([object], options);
    const answers = ["p", "q", "r", "s"].map((name) => replica.send(deleteReview(pod(name))));
    const settled = await settle(clock, Promise.all(answers));
    assert.ok(settled.every(({ allowed }) => allowed));
    assert.equal(settled.filter(({ warnings }) => warnings.length === 0).length, 2);
    assert.equal(core.buckets("ns/web").length, 4);
    const counted = 'webhook_would_refuse_total{podprotector="core/ns/web",operation="delete"';
    assert.equal(replica.metrics.count(counted), 2);
  });
}

test("the webhook reserves from one PodProtector after the other, by core, namespace and name", async () => {
  const clock = createVirtualClock();
  const [west, east] = [new FakeCore(clock), new FakeCore(clock)];
  const order: string[] = [];
  for (const [label, core] of Object.entries({ west, east })) {
    for (const name of ["b", "a"]) core.put(having(name, 100));
    core.script = (request) => {
      order.push(`${label}/${/podprotectors\/([^/]+)/.exec(request.path)?.[1]}`);
      return "none";
    };
  }
  const answer = await createReplica(clock, { west, east }).review(deleted());
  assert.equal(answer.allowed, true);
  assert.deepEqual(order, ["east/a", "east/b", "west/a", "west/b"]);
});

test("the webhook lets two reviews over the same PodProtectors pass without a deadlock", async () => {
  const { clock, core, replica } = world([having("a", 100), having("b", 100)]);
  const answers = ["p", "q", "r"].map((name) => replica.send(deleteReview(pod(name))));
  const settled = await settle(clock, Promise.all(answers));
  assert.ok(settled.every(({ allowed }) => allowed));
  assert.deepEqual([core.buckets("ns/a").length, core.buckets("ns/b").length], [3, 3]);
});

test("the webhook measures the evaluation of each PodProtector", async () => {
  const { replica } = world([having("a", 100), having("b", 80)]);
  await replica.review(deleted({}, { userInfo: { username: "system:node:n1" } }));
  const labels =
    'webhook_handle_pod_in_ppr{pod_cell="c1",namespace="ns",user="system:node",request_type="DeletePod",rejected=';
  assert.equal(replica.metrics.count(`${labels}"true"`), 1);
  assert.equal(replica.metrics.count(`${labels}"false"`), 1);
});

test("before a refusal by a possibly old state, many reviews cost one GET, and more within a second none", async () => {
  const made = world([atFloor()]);
  const { clock, core, replica } = made;
  behind(60_000, 80)({ ...made, cores: { core } });
  const methods = () => core.requests.map(({ method }) => method);
  const answers = Array.from({ length: 200 }, (_, index) => replica.send(deleteReview(pod(`p${index}`))));
  const settled = await settle(clock, Promise.all(answers));
  assert.ok(settled.every(({ code }) => code === 429));
  assert.equal((await replica.review(deleteReview(pod("q")))).code, 429);
  assert.deepEqual(methods(), ["GET"]);
  await clock.advance(1_000);
  assert.equal((await replica.review(deleteReview(pod("q")))).code, 429);
  assert.deepEqual(methods(), ["GET", "GET"]);
});
