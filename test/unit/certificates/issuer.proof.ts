import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createWorld, dayMs, hourMs, isAccepted, served } from "./issuer-world.ts";

test("eight years of two leaders, crashes, wrong clocks and clusters that are away drop no review", async (t) => {
  const { time, objects, start, bundle } = createWorld(t);
  const rng = createSeededRng(1);
  // Each thinks that it leads, and one has a clock that is years behind.
  let issuers = [start(), start(() => -1_000 * dayMs)];
  await Promise.all(issuers.map((issuer) => issuer.idle()));
  // A worker cluster takes the bundle when it is there; the last one is away for eight months, and then for a day.
  const clusters = [1, 7, 30, 240].map((everyDays) => ({ everyDays, bundle: bundle() }));
  const webhooks = Array.from({ length: 3 }, () => objects.read(served)["tls.crt"] ?? "");
  const verdicts = new Map<string, boolean>();
  const authorities = new Set(readCertificates(bundle()).map(({ serialNumber }) => serialNumber));
  const leaves = new Set<string>();
  for (let day = 1; day <= 8 * 365; day++) {
    time.nowMs += dayMs;
    objects.fault = ({ method }) =>
      rng.next() < (method === "PATCH" ? 0.3 : 0.05) ? new KubeError("network", "lost") : undefined;
    await Promise.all(issuers.map((issuer) => issuer.pass()));
    objects.fault = () => undefined;
    if (rng.next() < 0.02) {
      for (const issuer of issuers) issuer.stop();
      const skewMs = rng.next() * 30 * dayMs;
      issuers = [start(() => skewMs), start()];
      await Promise.all(issuers.map((issuer) => issuer.idle()));
    }
    for (const cluster of clusters) if (day % cluster.everyDays === 0) cluster.bundle = bundle();
    for (const index of webhooks.keys()) if (rng.next() < 0.5) webhooks[index] = objects.read(served)["tls.crt"] ?? "";
    for (const { serialNumber } of readCertificates(bundle())) authorities.add(serialNumber);
    assert.ok(readCertificates(bundle()).length <= 3, `day ${day}: authorities are forgotten`);
    for (const pem of webhooks) {
      leaves.add(pem);
      for (const cluster of clusters) {
        const skewMs = (rng.next() - 0.5) * hourMs;
        const key = `${pem}${cluster.bundle}`;
        const isTrusted =
          verdicts.get(key) ?? isAccepted(new X509Certificate(pem), cluster.bundle, time.nowMs + skewMs);
        verdicts.set(key, isTrusted);
        const { validToDate } = new X509Certificate(pem);
        assert.ok(isTrusted && validToDate.getTime() > time.nowMs + skewMs, `day ${day}, every ${cluster.everyDays}`);
      }
    }
  }
  assert.ok(authorities.size >= 8 && authorities.size <= 10, `${authorities.size} authorities`);
  assert.ok(leaves.size >= 45, `${leaves.size} certificates`);
});
