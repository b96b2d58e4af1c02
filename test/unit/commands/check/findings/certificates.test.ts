import assert from "node:assert/strict";
import { test } from "node:test";
import { issueServerCertificate } from "../../../../../src/certificates/index.ts";
import {
  type EntryFacts,
  type Reading,
  type ReadServed,
  type ServedFacts,
} from "../../../../../src/commands/check/facts.ts";
import {
  certificateFindings,
  publishedFindings,
  tokenFindings,
} from "../../../../../src/commands/check/findings/certificates.ts";
import { before, core, deployment, entry, now, read, saidOf, unread, worker } from "../sound-facts.ts";

const url = "https://podseidon.example.com/worker-1";
const day = 86_400;
const good: ServedFacts = { distrust: undefined, validFrom: before(day), validTo: before(-200 * day), status: 401 };

function texts(served: ReadServed | undefined, fields: Partial<EntryFacts> = {}): readonly string[] {
  const all = new Map(served === undefined ? [] : [[url, served]]);
  return certificateFindings({ entries: read([entry(fields)]), served: all }, now).map(
    ({ level, check, text }) => `${level} ${check}: ${text}`,
  );
}

async function bundle(days: number, agoDays = 0): Promise<string> {
  const at = new Date((now - agoDays * day * 1_000_000) / 1_000);
  return (await issueServerCertificate({ dnsNames: ["x"], ipAddresses: [], days, now: at })).caCertificate;
}

test("a certificate that is trusted and lasts is in order", () => {
  assert.deepEqual(texts(read(good)), [
    "ok certificate: caBundle matches, certificate good for 200 d 00 h",
    "ok client-certificate: the webhook wants a client certificate",
  ]);
});

test("one that has expired, expires soon, or is not trusted is told, each once", () => {
  const expired = texts(read({ ...good, validTo: before(day), distrust: "certificate has expired" }));
  assert.match(expired[0] ?? "", /^fail certificate: .* expired 1 d 00 h ago/);
  const served = new Map([[url, read({ ...good, validTo: before(day) })]]);
  const [found] = certificateFindings({ entries: read([entry()]), served }, now);
  assert.match(found?.cure ?? "", /^renew it now: webhooks read it within ten seconds; /);
  assert.equal(expired.length, 2);
  assert.match(
    texts(read({ ...good, validFrom: before(300 * day), validTo: before(-29 * day) }))[0] ?? "",
    /^warn certificate: .*expires in 29 d/,
  );
  assert.match(
    texts(read({ ...good, distrust: "self-signed certificate" }))[0] ?? "",
    /^fail ca-bundle: .*self-signed certificate/,
  );
});

test("a short certificate that is renewed by itself is in time until its last third", () => {
  const hours = (left: number): string =>
    texts(read({ ...good, validFrom: before((24 - left) * 3_600), validTo: before(-left * 3_600) }))[0] ?? "";
  assert.match(hours(9), /^ok /);
  assert.match(hours(7), /^warn /);
});

test("a webhook that answers without a client certificate is a warning; one that hangs up is in order", () => {
  assert.match(texts(read({ ...good, status: 405 }))[1] ?? "", /^warn client-certificate/);
  assert.match(texts(read({ ...good, status: undefined }))[1] ?? "", /^ok client-certificate/);
});

test("a webhook out of reach is not checked, and strangers of its cluster are not asked about", () => {
  assert.deepEqual(
    texts(unread).map((text) => text.split(":")[0]),
    ["unchecked certificate", "unchecked client-certificate"],
  );
  assert.deepEqual(
    texts({ ok: false, why: "no", isPrivate: true }).map((text) => text.split(":")[0]),
    ["unchecked certificate"],
  );
});

test("authorities in caBundle are checked too: one that lasts is enough", async () => {
  assert.deepEqual(texts(undefined, { caBundle: await bundle(365) }), []);
  assert.match(
    texts(undefined, { caBundle: await bundle(10, 20) })[0] ?? "",
    /^fail certificate: authority .* in caBundle of podseidon expired/,
  );
  assert.match(
    texts(undefined, { caBundle: await bundle(100, 90) })[0] ?? "",
    /^warn certificate: .*expires in 10 d|^warn certificate: .*expires in 9 d/,
  );
  assert.deepEqual(texts(undefined, { caBundle: (await bundle(10, 20)) + (await bundle(365)) }), []);
});

test("a caBundle that is broken, or missing for a Service, is a failure", () => {
  assert.match(texts(undefined, { caBundle: "nonsense" })[0] ?? "", /^fail ca-bundle: .*cannot be read/);
  assert.match(texts(undefined, { isService: true })[0] ?? "", /^fail ca-bundle: podseidon has no caBundle/);
});

const hour = 3_600;

/** Of a token that was made `madeAgo` seconds ago and ends in `left`. */
function token(account: string, madeAgo: number, left: number) {
  return { account, validity: { from: before(madeAgo), to: before(-left) } };
}

function said(...tokens: readonly ReturnType<typeof token>[]): readonly string[] {
  return tokenFindings(read(tokens), now).map(({ level, text }) => `${level} ${text}`);
}

test("a token of a week is in order while more than half of the week is left, and warned about from then on", () => {
  const what = "the token that another cluster has of podseidon-aggregator-w1";
  assert.deepEqual(said(token("podseidon-aggregator-w1", 3 * day, 4 * day)), [`ok ${what} is good for 4 d 00 h`]);
  assert.deepEqual(said(token("podseidon-aggregator-w1", 4 * day, 3 * day)), [
    `warn ${what} ends in 3 d 00 h; then the pods of its cell are no longer counted, and the cell falls silent`,
  ]);
});

test("a token of a year is warned about in its last week, and one of a day in its last half day", () => {
  const levels = [
    said(token("a", 300 * day, 8 * day)),
    said(token("a", 360 * day, 6 * day)),
    said(token("a", 8 * hour, 16 * hour)),
    said(token("a", 16 * hour, 8 * hour)),
  ].map(([line]) => line?.split(" ", 1)[0]);
  assert.deepEqual(levels, ["ok", "warn", "ok", "warn"]);
});

test("a token that has ended is a failure that says what is lost", () => {
  const [line = ""] = said(token("podseidon-webhook", 8 * day, -day));
  assert.match(line, /^fail .*podseidon-webhook ended 1 d 00 h ago: the webhook refuses evictions of pods here$/);
});

test("accounts that may not be listed, and notes that cannot be read, are not taken for good tokens", () => {
  assert.equal(tokenFindings(unread, now)[0]?.level, "unchecked");
  const [finding] = tokenFindings(read([{ account: "a", validity: undefined }]), now);
  assert.equal(finding?.level, "unchecked");
});

test("tokens of accounts of the core and of workers are both looked at", () => {
  const tokens = read([token("a", 8 * day, -day)]);
  assert.deepEqual(saidOf({ cores: [core({ tokens })] }), ["fail token"]);
  assert.deepEqual(saidOf({ workers: [worker("worker-1", { tokens }), worker("worker-2")] }), ["fail token"]);
});

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

function saidOfPublished(published: Reading<string | undefined>, caBundle: string, isKept = true): readonly string[] {
  const deployments = read(isKept ? [keeper] : [deployment("aggregator")]);
  const own = worker("worker-1", { entries: read([entry({ caBundle })]), deployments });
  const findings = publishedFindings(own, [core({ published })]);
  return findings.map(({ level, text }) => `${level}: ${text}`);
}

test("a caBundle that is what the core publishes is in order, in whatever order", () => {
  assert.deepEqual(saidOfPublished(read(old + next), next + old), ["ok: caBundle is as the core publishes it"]);
});

test("an authority that the core publishes and a caBundle lacks is told, whoever keeps it", () => {
  const lacks =
    "warn: caBundle of podseidon.kubewharf.io in podseidon lacks 1 authority that the core publishes, and is";
  for (const isKept of [true, false]) {
    const [one = "", ...more] = saidOfPublished(read(old + next), old, isKept);
    assert.ok(one.startsWith(lacks), one);
    assert.deepEqual(more, []);
  }
});

test("an authority that is published no more is told where an aggregator should have taken it out", () => {
  assert.match(saidOfPublished(read(next), old + next).join(), /^warn: .* trusts 1 authority that no core publishes/);
  assert.deepEqual(saidOfPublished(read(next), old + next, false), ["ok: caBundle is as the core publishes it"]);
});

test("a core that publishes nothing is no matter, and one that cannot be read only where it should be equal", () => {
  assert.deepEqual(saidOfPublished(read(undefined), old, false), []);
  assert.deepEqual(saidOfPublished(unread, old, false), []);
  assert.deepEqual(saidOfPublished(unread, old), [
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
  const saidOfPublished = (cores: Parameters<typeof publishedFindings>[1]) =>
    publishedFindings(own, cores).map(({ level, text }) => `${level}: ${text}`);
  const first = core({ published: read(old) });
  assert.match(
    saidOfPublished([first]).join(),
    /^unchecked: .*its cores publish: not checked, give 1 further core of its aggregator/,
  );
  const both = [first, core({ name: "east", published: read(next) })];
  assert.deepEqual(saidOfPublished(both), ["ok: caBundle is as the core publishes it"]);
});
