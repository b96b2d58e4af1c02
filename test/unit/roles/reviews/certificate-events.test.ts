import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectReference } from "../../../../src/kube/event-recorder.ts";
import { KubeError, type KubeClient } from "../../../../src/kube/kube-client.ts";
import { createCertificateEvents } from "../../../../src/roles/reviews/certificate-events.ts";

const deployment = { namespace: "podseidon-system", name: "podseidon-webhook" };
const expires = new Date("2027-01-01T00:00:00Z");
const ending = { use: "webhook https", subject: "CN=a\u202eb", expires, hasExpired: false };

/** The Events that are recorded, with a Deployment that is read by `request`. */
function events(request: () => Promise<unknown>) {
  const recorded: { regarding: ObjectReference; reason: string; message: string }[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const client = { request } as unknown as KubeClient;
  const record = (regarding: ObjectReference, _type: string, reason: string, message: string): void => {
    recorded.push({ regarding, reason, message });
    resolve();
  };
  const tell = createCertificateEvents(deployment, client, { record, close() {} });
  return { recorded, tell, told: promise };
}

test("a certificate that ends is an Event on the webhook's Deployment, and its name cannot turn the text", async () => {
  const { recorded, tell, told } = events(async () => ({ metadata: { uid: "u1" } }));
  tell(ending);
  await told;
  assert.deepEqual(recorded, [
    {
      regarding: { apiVersion: "apps/v1", kind: "Deployment", ...deployment, uid: "u1" },
      reason: "CertificateExpiresSoon",
      message: 'A certificate of the webhook https, "CN=a\\u{202e}b", expires at 2027-01-01T00:00:00.000Z',
    },
  ]);
});

test("where the Deployment cannot be read the Event comes without its UID", async () => {
  const { recorded, tell, told } = events(async () => {
    throw new KubeError("forbidden", "GET deployments: 403");
  });
  tell({ ...ending, hasExpired: true });
  await told;
  assert.equal(recorded[0]?.regarding.uid, undefined);
  assert.equal(recorded[0]?.reason, "CertificateExpired");
});
