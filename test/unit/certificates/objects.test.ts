import assert from "node:assert/strict";
import { test } from "node:test";
import { readData, servedSecret, trustedConfigMap, writeData } from "../../../src/certificates/objects.ts";
import { isKubeError } from "../../../src/kube/kube-client.ts";
import { PassClock } from "./pass-clock.ts";
import { StoredObjects } from "./stored-objects.ts";

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
