import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { pods } from "../../../../src/kube/resources.ts";
import { drainMicrotasks } from "../../../support/virtual-clock.ts";
import { bookmark, envelope, field, frame, message, pod, watchEvent } from "../protobuf/writer.ts";
import { create } from "./reflector-rig.ts";

const event = (type: string, name: string, version: string): Buffer =>
  frame(watchEvent(type, envelope("Pod", pod({ name, version, labels: { app: "web" } }))));
const mark = (version: string, end = false): Buffer => frame(watchEvent("BOOKMARK", bookmark(version, end)));
const failure = (code: number, reason: string): Buffer =>
  frame(watchEvent("ERROR", envelope("Status", message(field(2, "Failure"), field(4, reason), field(6, code)))));

/** A pod informer whose server streams protobuf; "a" and "b" are listed at version 10. */
async function startSynced(t: { after(end: () => Promise<void>): void }) {
  const { run, ...created } = create<PodRecord>({
    resource: pods,
    labelSelector: undefined,
    preferProtobuf: true,
    decode: (raw) => readPodRecord(raw),
    name: "pods",
  });
  const { client, informer } = created;
  client.encoding = "protobuf";
  // What a reconnect asks first: whether the server still has the history of the watch.
  client.onRequest = () => ({ metadata: { resourceVersion: "1000" }, items: [] });
  const log: string[] = [];
  informer.subscribe({
    onEvent: ({ type, object }) => void log.push(`${type} ${object.key}@${object.resourceVersion}`),
  });
  run(t);
  await drainMicrotasks();
  client.stream0().sendBytes(Buffer.concat([event("ADDED", "a", "5"), event("ADDED", "b", "7")]));
  await drainMicrotasks();
  assert.equal(informer.hasSynced(), false, "the end mark is missing");
  client.stream0().sendBytes(mark("10", true));
  await drainMicrotasks();
  assert.equal(informer.hasSynced(), true);
  assert.deepEqual(log.splice(0), ["added ns/a@5", "added ns/b@7"]);
  return { ...created, log };
}

test("a WatchList, its end mark, events and bookmarks come as protobuf frames, which were asked for", async (t) => {
  const { client, informer, log } = await startSynced(t);
  assert.equal(client.stream0().request.preferProtobuf, true);
  const changes = Buffer.concat([event("MODIFIED", "a", "11"), event("DELETED", "b", "12"), mark("20")]);
  for (const byte of changes) client.stream0().sendBytes(Buffer.from([byte]));
  await drainMicrotasks();
  assert.deepEqual(log, ["modified ns/a@11", "deleted ns/b@12"]);
  assert.equal(informer.version(), "20");
  assert.deepEqual(informer.get(objectKey("ns", "a"))?.labels, { app: "web" });
});

test("a corrupt frame ends the stream, and the watch goes on from the last good version", async (t) => {
  const { client, informer, log, relists, passBackoff } = await startSynced(t);
  client.stream0().sendBytes(Buffer.concat([event("ADDED", "c", "11"), frame(Buffer.from("nonsense"))]));
  await drainMicrotasks();
  assert.match(informer.lastError() ?? "", /cannot watch pods: WATCH \/api\/v1\/pods: corrupt protobuf at byte/);
  assert.equal(client.streams[0]?.closed, true);
  await passBackoff();
  assert.equal(client.stream0().request.query?.["resourceVersion"], "11");
  client.stream0().sendBytes(event("ADDED", "d", "12"));
  await drainMicrotasks();
  assert.deepEqual(log, ["added ns/c@11", "added ns/d@12"]);
  assert.equal(informer.lastError(), undefined);
  assert.equal(relists("corrupt"), 0);
});

test("a watch that is corrupt twice at the same version is listed again", async (t) => {
  const { client, relists, passBackoff } = await startSynced(t);
  for (let round = 0; round < 2; round++) {
    client.stream0().sendBytes(Buffer.from("<html>"));
    await drainMicrotasks();
    await passBackoff();
  }
  assert.equal(relists("corrupt"), 1);
  assert.equal(client.stream0().request.query?.["sendInitialEvents"], true);
});

test("an ERROR event says in protobuf too that the version is forgotten", async (t) => {
  const { client, relists, passBackoff } = await startSynced(t);
  client.stream0().sendBytes(failure(410, "Expired"));
  await drainMicrotasks();
  await passBackoff();
  assert.equal(relists("gone"), 1);
});

test("a server that goes on in JSON after a reconnect is understood", async (t) => {
  const { client, log, passBackoff } = await startSynced(t);
  client.encoding = "json";
  client.stream0().end();
  await drainMicrotasks();
  await passBackoff();
  const metadata = { name: "c", namespace: "ns", uid: "u", resourceVersion: "11" };
  client.stream0().send({ type: "ADDED", object: { metadata } });
  await drainMicrotasks();
  assert.deepEqual(log, ["added ns/c@11"]);
});

test("pages are asked for in protobuf where the server has no WatchList", async (t) => {
  const { client, informer, passBackoff } = await startSynced(t);
  client.onRequest = () => ({ metadata: { resourceVersion: "30" }, items: [] });
  informer.relist();
  await passBackoff();
  client.stream0().sendBytes(failure(400, "Invalid"));
  await drainMicrotasks();
  await passBackoff();
  assert.deepEqual(
    client.requests.map(({ preferProtobuf }) => preferProtobuf),
    [true],
  );
  assert.equal(informer.size, 0);
});
