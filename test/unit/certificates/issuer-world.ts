import { X509Certificate } from "node:crypto";
import { type TestContext } from "node:test";
import { CertificateIssuer } from "../../../src/certificates/issuer.ts";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { PassClock } from "./pass-clock.ts";
import { StoredObjects } from "./stored-objects.ts";

export const [served, authority, trusted] = [
  "podseidon-webhook-tls",
  "podseidon-webhook-authority",
  "podseidon-webhook-ca",
];
export const names = { dnsNames: ["podseidon-webhook.podseidon-system.svc"], ipAddresses: ["10.0.0.1"] };
export const dayMs = 24 * 3_600_000;
export const hourMs = 3_600_000;
export const problem = "generator_certificate_issuer_problem";

/** A core, and issuers that think that they lead it. */
export function createWorld(t: TestContext) {
  const time = { nowMs: Date.UTC(2026, 0, 1) };
  const objects = new StoredObjects(new PassClock(() => time.nowMs));
  const events: string[] = [];
  const metrics = createCountingMetrics();
  const start = (skewMs: () => number = () => 0, of = names) => {
    const clock = new PassClock(() => time.nowMs + skewMs());
    const end = new AbortController();
    t.after(() => end.abort());
    const record = (_: unknown, _type: string, reason: string, message: string) => events.push(`${reason} ${message}`);
    const logger = createRecordingLogger();
    const parts = { client: objects, namespace: "podseidon-system", events: { record }, clock, logger, metrics };
    void new CertificateIssuer({ ...parts, names: of }).lead(end.signal);
    return { pass: () => clock.pass(), idle: () => clock.idle(), stop: () => end.abort() };
  };
  const leaf = () => new X509Certificate(objects.read(served)["tls.crt"] ?? "");
  const bundle = () => objects.read(trusted)["ca.crt"] ?? "";
  return { time, objects, events, metrics, start, leaf, bundle };
}

/** Whether an API server with this caBundle accepts what is served. */
export function isAccepted(leaf: X509Certificate, bundle: string, nowMs: number): boolean {
  const isValid = ({ validFromDate, validToDate }: X509Certificate): boolean =>
    validFromDate.getTime() <= nowMs && nowMs <= validToDate.getTime();
  return (
    isValid(leaf) &&
    readCertificates(bundle).some((ca) => isValid(ca) && leaf.checkIssued(ca) && leaf.verify(ca.publicKey))
  );
}
