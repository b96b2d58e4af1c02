import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../../src/api/cell-lease.ts";
import { type Finding } from "../../../../../src/commands/check/finding.ts";
import {
  certificateEventFindings,
  releaseFindings,
  rightFindings,
  webhookReplicaFindings,
} from "../../../../../src/commands/check/findings/roles.ts";
import { before, cell, core, deployment, now, productVersion, read, unread } from "../sound-facts.ts";

const levels = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ level, text }) => `${level} ${text}`);

test("a webhook without ready replicas is a failure, with one it is a warning", () => {
  const replicas = (ready: number, wanted: number): readonly string[] =>
    levels(webhookReplicaFindings(read([deployment("webhook", { ready, wanted })])));
  assert.deepEqual(replicas(0, 3), ["fail podseidon-webhook: 0 of 3 replicas are ready"]);
  assert.deepEqual(replicas(1, 3), ["warn podseidon-webhook: 1 of 3 replicas are ready"]);
  assert.deepEqual(replicas(1, 1), ["warn podseidon-webhook: 1 of 1 replicas are ready"]);
  assert.deepEqual(replicas(3, 3), ["ok podseidon-webhook: 3 of 3 replicas are ready"]);
});

test("where webhooks run in another way, their replicas are not checked", () => {
  assert.match(levels(webhookReplicaFindings(read([])))[0] ?? "", /^unchecked /);
  assert.match(levels(webhookReplicaFindings(unread))[0] ?? "", /^unchecked .*you may not look/);
});

test("what webhooks say of a certificate is a warning, with how long ago", () => {
  const event = { message: "A certificate of the webhook https expires at noon", at: before(7_200) };
  assert.deepEqual(levels(certificateEventFindings(read([event]), now)), [`warn ${event.message} (said 2 h 00 m ago)`]);
  assert.deepEqual(certificateEventFindings(read([]), now), []);
});

test("roles of different releases are named with them", () => {
  const old = cell("worker-2", { annotations: { [cellLeaseAnnotations.productVersion]: "0.0.9 (x)" } });
  const heartbeats = read({ cells: [cell("worker-1"), old], observer: undefined });
  const [text = "", ...more] = levels(releaseFindings(core({ heartbeats }), [], productVersion));
  assert.equal(
    text,
    "warn roles are of different releases: aggregator of worker-1 0.1.0 (abc), aggregator of worker-2 0.0.9 (x)",
  );
  assert.deepEqual(more, []);
});

test("webhooks of another release than the rest are named by the workers that ask them", () => {
  const workers = [
    { name: "worker-1", webhookReleases: [productVersion] },
    { name: "worker-2", webhookReleases: ["0.0.9 (x)"] },
    { name: "worker-3", webhookReleases: [] },
  ];
  const [finding] = releaseFindings(core(), workers, productVersion);
  assert.match(
    finding?.text ?? "",
    /^roles are of different releases: generator 0\.1\.0 \(abc\), .*, webhook asked by worker-2 0\.0\.9 \(x\)$/,
  );
  assert.match(finding?.cure ?? "", /in this order: CRD, policies, webhooks, aggregators, generator$/);
});

test("Deployments that run different images are told", () => {
  const deployments = read([deployment("webhook", { image: "x:1" }), deployment("generator", { image: "x:2" })]);
  const [text = ""] = levels(releaseFindings(core({ deployments }), [], productVersion));
  assert.equal(text, "warn Deployments run different images: webhook x:1, generator x:2");
});

test("a program of another release than the roles is only a note", () => {
  assert.match(
    levels(releaseFindings(core(), [], "0.2.0 (def)"))[0] ?? "",
    /^note roles are of release 0\.1\.0 \(abc\), this program of 0\.2\.0/,
  );
});

const right = (account: string, name: string, isGranted: boolean) => ({ account, right: name, isGranted });

test("accounts that have all rights are one line", () => {
  const rights = read([right("a", "get pods", true), right("b", "list pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["ok rights of a, b"],
  );
});

test("what an account lacks is named, account by account", () => {
  const rights = read([right("a", "get pods", false), right("a", "list pods", false), right("b", "get pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["fail a may not get pods, list pods"],
  );
});

test("without the right to ask, or without an account, nothing is claimed", () => {
  assert.equal(rightFindings(unread)[0]?.level, "unchecked");
  assert.equal(rightFindings(read([]))[0]?.level, "unchecked");
});
