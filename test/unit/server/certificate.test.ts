import assert from "node:assert/strict";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { StartError } from "../../../src/lifecycle/component.ts";
import {
  certificatePollMs,
  loadCertificate,
  watchCertificate,
  type Certificate,
} from "../../../src/server/certificate.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createAuthority, createPem, temporaryFolder, writePem } from "./certificates.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";

/** Until the test ends. */
function watch(t: TestContext, files: Parameters<typeof watchCertificate>[0]["files"]) {
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const seen: Certificate[] = [];
  const onChange = (certificate: Certificate): void => void seen.push(certificate);
  const stop = watchCertificate(
    { files, clock, logger, onChange },
    "supplied" in files ? undefined : loadCertificate(files),
  );
  t.after(() => {
    stop();
    assert.equal(clock.pendingTimers, 0);
  });
  return { clock, logger, seen };
}

test("a missing, broken or mismatched pair is a StartError that names the file", async (t) => {
  const folder = temporaryFolder(t);
  const [one, other] = await Promise.all([createPem("one"), createPem("other")]);
  const files = writePem(folder, { cert: one.cert, key: other.key });
  assert.throws(
    () => loadCertificate(files),
    (error) => error instanceof StartError && error.message.includes(files.keyFile),
  );
  const missing = { ...files, certFile: path.join(folder, "missing") };
  assert.throws(
    () => loadCertificate(missing),
    (error) => error instanceof StartError && error.message.includes("missing"),
  );
  writeFileSync(files.certFile, "no PEM");
  assert.throws(() => loadCertificate(files), StartError);
});

test("a changed pair is noticed at the next poll, an unchanged one is not reported", async (t) => {
  const folder = temporaryFolder(t);
  const files = writePem(folder, await createPem("old"));
  const { clock, seen } = watch(t, files);
  await clock.advance(3 * certificatePollMs);
  assert.equal(seen.length, 0);
  const next = await createPem("new");
  writePem(folder, next);
  await clock.advance(certificatePollMs);
  assert.deepEqual(seen, [next]);
});

test("a Secret that is replaced by a symlink swap is noticed", async (t) => {
  const folder = temporaryFolder(t);
  const [old, next] = [await createPem("old"), await createPem("new")];
  for (const [name, pem] of [
    ["..1", old],
    ["..2", next],
  ] as const) {
    mkdirSync(path.join(folder, name));
    writePem(path.join(folder, name), pem);
  }
  symlinkSync("..1", path.join(folder, "..data"));
  for (const file of ["tls.crt", "tls.key"]) symlinkSync(`..data/${file}`, path.join(folder, file));
  const { clock, seen } = watch(t, {
    certFile: path.join(folder, "tls.crt"),
    keyFile: path.join(folder, "tls.key"),
  });
  symlinkSync("..2", path.join(folder, "..data_tmp"));
  renameSync(path.join(folder, "..data_tmp"), path.join(folder, "..data"));
  await clock.advance(certificatePollMs);
  assert.deepEqual(seen, [next]);
});

test("the file of the client CA must contain a certificate, and is reloaded when it changes", async (t) => {
  const folder = temporaryFolder(t);
  const caFile = path.join(folder, "ca.crt");
  const files = { ...writePem(folder, await createPem("x")), caFile };
  writeFileSync(caFile, "no PEM");
  assert.throws(
    () => loadCertificate(files),
    (error) => error instanceof StartError && error.message.startsWith(`${caFile} contains no certificate`),
  );
  const [old, next] = [await createPem("old"), await createPem("new")];
  writeFileSync(caFile, old.cert);
  const { clock, logger, seen } = watch(t, files);
  writeFileSync(caFile, "");
  await clock.advance(certificatePollMs);
  assert.equal(seen.length, 0);
  assert.equal(logger.messages().length, 1, "an empty file does not lock everybody out");
  writeFileSync(caFile, next.cert);
  await clock.advance(certificatePollMs);
  assert.deepEqual(
    seen.map(({ ca }) => ca),
    [next.cert],
  );
});

test("while the two files do not match, the old pair stays with one warning", async (t) => {
  const folder = temporaryFolder(t);
  const [old, next] = [await createPem("old"), await createPem("new")];
  const files = writePem(folder, old);
  const { clock, logger, seen } = watch(t, files);
  writeFileSync(files.certFile, next.cert);
  await clock.advance(2 * certificatePollMs);
  assert.equal(seen.length, 0);
  assert.deepEqual(logger.messages(), ["Invalid certificate, keeping the old one"]);
  writeFileSync(files.keyFile, next.key);
  await clock.advance(certificatePollMs);
  assert.deepEqual(seen, [next]);
});

test("an expired pair does not replace a valid one, but one that has expired itself", async (t) => {
  const folder = temporaryFolder(t);
  const files = writePem(folder, await createPem("old"));
  const { clock, logger, seen } = watch(t, files);
  const expired = await createPem("expired", new Date("2021-01-01"));
  writePem(folder, expired);
  await clock.advance(2 * certificatePollMs);
  assert.deepEqual(seen, []);
  const problem = `certificate ${files.certFile} has expired, that in use has not`;
  assert.deepEqual(
    logger.entries.map(({ level, fields }) => [level, fields?.["problem"]]),
    [["warn", problem]],
  );
  const other = watch(t, files);
  const later = await createPem("expired, too", new Date("2022-01-01"));
  writePem(folder, later);
  await other.clock.advance(certificatePollMs);
  assert.deepEqual(other.seen, [later]);
});

test("a broken authority is a StartError at the start, and keeps the old ones at a reload", async (t) => {
  const folder = temporaryFolder(t);
  const [one, two, three] = (await Promise.all(["1", "2", "3"].map((name) => createAuthority(name)))).map(
    ({ cert }) => `${cert.trim()}\n`,
  );
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const caFile = path.join(folder, "ca.crt");
  const files = { ...writePem(folder, await createPem("server")), caFile };
  const broken = `${one}${two.replace(/\n[^-\n]*/, "\nAAAA")}${three}`;
  writeFileSync(caFile, broken);
  assert.throws(() => loadCertificate(files), /ca\.crt cannot be used: certificate 2 of 3 is broken/);
  writeFileSync(caFile, one);
  const { clock, seen } = watch(t, files);
  writeFileSync(caFile, broken);
  await clock.advance(certificatePollMs);
  assert.equal(seen.length, 0);
  writeFileSync(caFile, `${one}${two}${three}`);
  await clock.advance(certificatePollMs);
  assert.equal(seen.length, 1);
});

test("a certificate that is issued later is taken when it is there, and a broken one never replaces it", async (t) => {
  let issued: { cert: string; key: string } | undefined;
  const { clock, logger, seen } = watch(t, { supplied: () => issued });
  await clock.advance(certificatePollMs);
  assert.deepEqual(seen, []);
  const [one, two] = [await createPem("one"), await createPem("two")];
  for (const next of [one, { ...one, key: two.key }, two]) {
    issued = next;
    await clock.advance(certificatePollMs);
  }
  assert.deepEqual(seen, [one, two]);
  assert.deepEqual(
    logger.entries.map(({ fields }) => fields?.["problem"]).filter((problem) => problem !== undefined).length,
    1,
  );
});
