import assert from "node:assert/strict";
import { test } from "node:test";
import { issueServerCertificate } from "../../../../../src/certificates/index.ts";
import { publishedFindings } from "../../../../../src/commands/check/findings/published-authorities.ts";
import { type Reading } from "../../../../../src/commands/check/facts.ts";
import { core, deployment, entry, now, read, unread, worker } from "../sound-facts.ts";

async function authority(): Promise<string> {
  const issued = await issueServerCertificate({
    dnsNames: ["x"],
    ipAddresses: [],
    days: 365,
    now: new Date(now / 1_000),
  });
  return issued.caCertificate;
}

const [old, next] = [await authority(), await authority()];
const keeper = deployment("aggregator", { flags: new Map([["aggregator-ca-bundle-of", "podseidon"]]) });

function said(published: Reading<string | undefined>, caBundle: string, isKept = true): readonly string[] {
  const deployments = read(isKept ? [keeper] : [deployment("aggregator")]);
  const own = worker("worker-1", { entries: read([entry({ caBundle })]), deployments });
  const findings = publishedFindings(own, [core({ published })]);
  return findings.map(({ level, text }) => `${level}: ${text}`);
}

test("a caBundle that is what the core publishes is in order, in whatever order", () => {
  assert.deepEqual(said(read(old + next), next + old), ["ok: caBundle is as the core publishes it"]);
});

test("an authority that the core publishes and a caBundle lacks is told, whoever keeps it", () => {
  const lacks =
    "warn: caBundle of podseidon.kubewharf.io in podseidon lacks 1 authority that the core publishes, and is";
  for (const isKept of [true, false]) {
    const [one = "", ...more] = said(read(old + next), old, isKept);
    assert.ok(one.startsWith(lacks), one);
    assert.deepEqual(more, []);
  }
});

test("an authority that is published no more is told where an aggregator should have taken it out", () => {
  assert.match(said(read(next), old + next).join(), /^warn: .* trusts 1 authority that no core publishes/);
  assert.deepEqual(said(read(next), old + next, false), ["ok: caBundle is as the core publishes it"]);
});

test("a core that publishes nothing is no matter, and one that cannot be read only where it should be equal", () => {
  assert.deepEqual(said(read(undefined), old, false), []);
  assert.deepEqual(said(unread, old, false), []);
  assert.deepEqual(said(unread, old), [
    "unchecked: whether caBundle is as the core publishes it: not checked, you may not look",
  ]);
});

test("a core that the cluster does not report to says nothing about what the cluster has to trust", () => {
  const own = worker("worker-1", { entries: read([entry({ caBundle: old })]), deployments: read([keeper]) });
  const foreign = core({
    name: "east",
    published: read(next),
    heartbeats: read({ cells: [], observer: undefined }),
  });
  const findings = publishedFindings(own, [core({ published: read(old) }), foreign]);
  assert.deepEqual(
    findings.map(({ level, text }) => `${level}: ${text}`),
    ["ok: caBundle is as the core publishes it"],
  );
});

test("what a core may publish that was not given is no finding, and is said to be not checked", () => {
  const flags = new Map([...keeper.flags, ["podprotector-source-provider.map-configs", "core=/a,east=/b"]]);
  const own = worker("worker-1", {
    entries: read([entry({ caBundle: old + next })]),
    deployments: read([deployment("aggregator", { flags })]),
  });
  const said = (cores: Parameters<typeof publishedFindings>[1]) =>
    publishedFindings(own, cores).map(({ level, text }) => `${level}: ${text}`);
  const first = core({ published: read(old) });
  assert.match(
    said([first]).join(),
    /^unchecked: .*its cores publish: not checked, give 1 further core of its aggregator/,
  );
  const both = [first, core({ name: "east", published: read(next) })];
  assert.deepEqual(said(both), ["ok: caBundle is as the core publishes it"]);
});
