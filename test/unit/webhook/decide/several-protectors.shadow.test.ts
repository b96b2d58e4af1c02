/** PodProtectors in shadow, and --webhook-dry-run: judged, recorded and reported, and nothing refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type Json, cell, deleteReview, evictReview, pod, protector } from "../support/objects.ts";
import { settle, world } from "../support/replica.ts";

const shadow = { [annotations.mode]: "shadow" };
/** 80 must stay, 80 are there. */
const atFloor = (name: string, metadata: Json = {}) =>
  withMetadata(protector({ name, cells: [cell("c1", 80)] }), { annotations: shadow, ...metadata });

function withMetadata(object: Json, more: Json): Json {
  return { ...object, metadata: { ...(object["metadata"] as Json), ...more } };
}

test("a PodProtector in shadow refuses nothing, records, and says what it would have refused", async () => {
  const { core, replica } = world([atFloor("web")]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /^allowed in shadow mode: PodProtector core\/ns\/web reports too few/);
  assert.equal(answer.audit["shadow"], "1");
  assert.equal(answer.audit["reject-by-podprotector"], "core/ns/web");
  assert.equal(core.buckets("ns/web").length, 1);
  assert.equal(replica.metrics.count('webhook_request{cell="c1",status="AdmittedAll"'), 1);
});

test("a value of the annotation that is not shadow leaves a PodProtector in force", async () => {
  for (const value of ["Shadow", "off", "enforced", ""]) {
    const { replica } = world([atFloor("web", { annotations: { [annotations.mode]: value } })]);
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false, value);
  }
});

test("a pod under one PodProtector in force and one in shadow is refused by the first alone", async () => {
  const enforced = protector({ name: "enforced", cells: [cell("c1", 100)] });
  const { core, replica } = world([atFloor("a-shadow"), enforced]);
  const admitted = await replica.review(deleteReview(pod("p")));
  assert.equal(admitted.allowed, true);
  assert.match(admitted.warnings[0] ?? "", /core\/ns\/a-shadow/);
  assert.equal(core.buckets("ns/enforced").length, 1);
  assert.equal(core.buckets("ns/a-shadow").length, 1);

  const both = world([atFloor("a-shadow"), protector({ name: "enforced", cells: [cell("c1", 80)] })]);
  const refused = await both.replica.review(deleteReview(pod("p")));
  assert.equal(refused.allowed, false);
  assert.match(refused.message, /core\/ns\/enforced/);
  assert.deepEqual(both.core.buckets("ns/a-shadow"), []);
});

for (const [what, options, annotated] of [
  ["in shadow", {}, shadow],
  ["with --webhook-dry-run", { dryRun: true }, {}],
] as const) {
  test(`deletions at the same time are judged ${what} one after the other, as if enforced`, async () => {
    const room = withMetadata(protector({ cells: [cell("c1", 82)] }), { annotations: annotated });
    const { clock, core, replica } = world([room], options);
    const answers = ["p", "q", "r", "s"].map((name) => replica.send(deleteReview(pod(name))));
    const settled = await settle(clock, Promise.all(answers));
    assert.deepEqual(
      settled.map(({ allowed }) => allowed),
      [true, true, true, true],
    );
    assert.equal(settled.filter(({ warnings }) => warnings.length === 0).length, 2);
    assert.equal(core.buckets("ns/web").length, 4);
    const counted = 'webhook_would_refuse_total{podprotector="core/ns/web",operation="delete"';
    assert.equal(replica.metrics.count(counted), 2);
  });
}

test("a forced deletion in shadow is in no report, since an enforced PodProtector lets it pass", async () => {
  const { replica } = world([atFloor("web")]);
  const forced = { annotations: { [annotations.forceDelete]: "" } };
  assert.equal((await replica.review(deleteReview(pod("p", forced)))).allowed, true);
  assert.equal(replica.metrics.count("webhook_would_refuse_total"), 0);
});

test("a dry-run request in shadow is told what would be refused, and is neither recorded nor reported", async () => {
  const { core, replica } = world([atFloor("web")]);
  const answer = await replica.review(deleteReview(pod("p"), { dryRun: true }));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /^allowed in shadow mode/);
  assert.equal(core.writes, 0);
  assert.equal(replica.metrics.count("webhook_would_refuse_total"), 0);
});

test("a PodProtector in shadow that vanishes, or turns invalid, does not begin to refuse", async () => {
  const { core, replica } = world([atFloor("gone"), atFloor("invalid")]);
  core.remove("ns/gone");
  core.put({ ...atFloor("invalid"), spec: { minAvailable: "many" } });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /^allowed in shadow mode/);
});

test("a core that takes no writes refuses nothing in shadow", async () => {
  const { core, replica } = world([withMetadata(protector({ cells: [cell("c1", 100)] }), { annotations: shadow })]);
  core.script = () => ({ refuse: "serverError" });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="Cancelled"}'), 1);
  core.script = () => ({ refuse: "forbidden", code: 403 });
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="forbidden"}'), 1);
});

test("evictions that would be refused are told apart from deletions", async () => {
  const evicted = pod("p");
  const client: KubeClient = {
    cluster: "worker",
    request: async () => evicted,
    stream: () => assert.fail("the webhook watches no worker"),
    close: async () => {},
  };
  const { replica } = world([atFloor("web")], { workers: { kind: "single", client } });
  const answer = await replica.review(evictReview("p"));
  assert.equal(answer.allowed, true);
  assert.equal(replica.metrics.count('webhook_would_refuse_total{podprotector="core/ns/web",operation="evict"'), 1);
});

test("a deletion that is reviewed again, because its pod has changed meanwhile, is reported once", async () => {
  const { core, replica } = world([atFloor("web")]);
  for (const resourceVersion of ["10", "11"]) {
    const changed = withMetadata(pod("p"), { resourceVersion });
    const { allowed, warnings } = await replica.review(deleteReview(changed));
    assert.equal(allowed, true);
    assert.match(warnings[0] ?? "", /^allowed in shadow mode/);
  }
  assert.equal(core.buckets("ns/web").length, 1);
  assert.equal(replica.metrics.count('webhook_would_refuse_total{podprotector="core/ns/web"'), 1);
});
