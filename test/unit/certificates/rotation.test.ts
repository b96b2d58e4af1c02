import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuthority, signServerCertificate } from "../../../src/certificates/authority.ts";
import {
  bundleOf,
  lifetimesDefault,
  needsAuthority,
  planLeaf,
  readAuthorities,
  readServed,
  stillTrusted,
  StoredCertificateError,
  validityFrom,
} from "../../../src/certificates/rotation.ts";
import { readData, servedSecret, trustedConfigMap, writeData } from "../../../src/certificates/objects.ts";
import { isKubeError } from "../../../src/kube/kube-client.ts";
import { PassClock } from "./pass-clock.ts";
import { StoredObjects } from "./stored-objects.ts";

const dayMs = 24 * 3_600_000;
const start = Date.UTC(2026, 0, 1);
const { leafMs, authorityMs } = lifetimesDefault;
const names = { dnsNames: ["a.example"], ipAddresses: ["::1"] };
const first = await createAuthority("ca", validityFrom(start, authorityMs));
const second = await createAuthority("ca", validityFrom(start + 700 * dayMs, authorityMs));
const [one] = readAuthorities([first]);
const both = readAuthorities([second, first]);
const leafOf = async (madeMs: number) => ({
  ...(await signServerCertificate(first, names, validityFrom(madeMs, leafMs))),
  authorities: first.certificate,
});

test("stored authorities are in the order in which they end, and a broken one is never skipped", () => {
  assert.deepEqual(
    both.map(({ pair }) => pair),
    [first, second],
  );
  const mixed = { certificate: first.certificate, privateKey: second.privateKey };
  for (const pairs of [[mixed], [first, { certificate: "no PEM", privateKey: "" }]])
    assert.throws(() => readAuthorities(pairs), StoredCertificateError);
});

test("an authority is trusted an hour longer than it is valid, and the next one comes at half of its life", () => {
  const end = start + authorityMs;
  assert.equal(stillTrusted(both, end + 1).length, 2);
  assert.equal(stillTrusted(both, end + 3_600_001).length, 1);
  assert.equal(needsAuthority([], start, lifetimesDefault), true);
  assert.equal(needsAuthority(both.slice(0, 1), start + authorityMs / 2, lifetimesDefault), false);
  assert.equal(needsAuthority(both.slice(0, 1), start + authorityMs / 2 + 1, lifetimesDefault), true);
});

test("what is broken, over, or of an unknown authority is not served", async () => {
  const leaf = await leafOf(start);
  assert.ok(one !== undefined);
  assert.ok(readServed(leaf, [one], start) !== undefined);
  assert.ok(readServed(leaf, [], start) !== undefined, "by the authority beside it");
  assert.equal(readServed(leaf, [one], start + leafMs), undefined);
  assert.equal(readServed({ ...leaf, authorities: second.certificate }, [], start), undefined);
  assert.equal(readServed({ ...leaf, privateKey: first.privateKey }, [one], start), undefined);
  assert.equal(readServed({ certificate: "", privateKey: "", authorities: "" }, [one], start), undefined);
});

test("a new authority that comes late signs only after a third of a life, or when all would end", async () => {
  const madeMs = start + 640 * dayMs;
  const leaf = await leafOf(madeMs);
  const plan = (nowMs: number) => planLeaf(readServed(leaf, both, nowMs), both, { names, nowMs, leafMs });
  assert.equal(plan(start + 680 * dayMs).kind, "keep");
  const waiting = plan(start + 705 * dayMs);
  assert.equal(waiting.kind, "wait");
  assert.match(waiting.kind === "wait" ? (waiting.problem ?? "") : "", /not published for long enough/);
  const cut = plan(start + 719 * dayMs + dayMs / 2);
  assert.equal(cut.kind === "sign" && cut.signer.pair, second);
});

test("the bundle has each authority of what is served or was, until it ends", async () => {
  const stored = await leafOf(start);
  const others = readAuthorities([second]);
  const count = (trusted: typeof others, of: typeof stored, nowMs: number): number | undefined =>
    bundleOf(trusted, { served: readServed(of, [], nowMs), stored: of, nowMs }).match(/BEGIN CERTIFICATE/g)?.length;
  assert.equal(count(others, stored, start), 2);
  assert.equal(count(both, stored, start), 2);
  assert.equal(count(others, { ...stored, certificate: "" }, start), 2, "replicas may serve what it signed");
  assert.equal(count(others, { ...stored, authorities: "" }, start), 1);
  assert.equal(count(others, { ...stored, authorities: "-----BEGIN CERTIFICATE-----" }, start), 1);
  assert.equal(count(others, stored, start + authorityMs), 1);
});

const { signal } = new AbortController();
const nowMs = Date.UTC(2026, 0, 1);

test("what is written into a Secret and a ConfigMap is read as text, with the time of the server", async () => {
  const place = { client: new StoredObjects(new PassClock(() => nowMs)), namespace: "podseidon-system" };
  for (const object of [servedSecret, trustedConfigMap]) {
    await writeData(place, object, await readData(place, object), { "ca.crt": "a\nb" }, signal);
    const read = await readData(place, object);
    assert.deepEqual(read.data, { "ca.crt": "a\nb" }, object.kind);
    assert.equal(read.serverTimeMs, nowMs);
  }
});

test("a writer that has read before another one wrote meets a conflict, and changes nothing", async () => {
  const place = { client: new StoredObjects(new PassClock(() => nowMs)), namespace: "podseidon-system" };
  const stale = await readData(place, servedSecret);
  await writeData(place, servedSecret, stale, { "tls.crt": "one" }, signal);
  await assert.rejects(writeData(place, servedSecret, stale, { "tls.crt": "two" }, signal), (error) =>
    isKubeError(error, "conflict"),
  );
  assert.equal((await readData(place, servedSecret)).data["tls.crt"], "one");
});
