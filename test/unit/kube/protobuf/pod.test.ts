import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { readPodRecord as readRecord } from "../../../../src/api/pod.ts";
import { readPod, readPodList } from "../../../../src/kube/protobuf/pod.ts";
import { readMessage, type MessageReader } from "../../../../src/kube/protobuf/message-reader.ts";
import { field, message, pod, podList, time, entry } from "./writer.ts";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { readListMeta, readObjectMeta, readTime } from "../../../../src/kube/protobuf/meta.ts";
import { compareExchange, type Exchange } from "./exchange.ts";

const read = (bytes: Buffer): unknown => readMessage(bytes, "test", readPod);

test("a pod becomes the same record as its JSON", () => {
  const as = (time: (text: string) => unknown): { readonly metadata: object; readonly status: object } => ({
    metadata: {
      name: "a",
      namespace: "ns",
      uid: "uid-a",
      resourceVersion: "5",
      creationTimestamp: time("2026-01-02T03:04:05Z"),
      labels: { app: "web" },
      managedFields: [{ time: time("2026-01-02T03:04:09Z") }],
    },
    status: {
      phase: "Running",
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastProbeTime: undefined,
        lastTransitionTime: time("2026-01-02T03:04:05Z"),
      })),
    },
  });
  const expected = as((text) => new Date(text));
  const decoded = read(pod({ name: "a", version: "5", labels: { app: "web" }, annotations: { other: "x" } }));
  assert.deepEqual(decoded, { ...expected, metadata: { ...expected.metadata, annotations: {} } });
  assert.deepEqual(readRecord(decoded), readRecord(as((text) => text)));
  assert.equal(readRecord(decoded)?.isReady, true);
});

test("a pod without status, and a status without anything, are read", () => {
  assert.deepEqual(read(field(1, field(1, "a"))), { metadata: { name: "a" } });
  assert.deepEqual(read(message(field(1, ""), field(3, field(2, "")))), { metadata: {}, status: { conditions: [{}] } });
});

test("a condition has the time of its last probe", () => {
  const condition = message(field(1, "Ready"), field(3, time("2026-01-02T03:04:05Z")), field(4, ""));
  assert.deepEqual(read(field(3, field(2, condition))), {
    metadata: {},
    status: {
      conditions: [{ type: "Ready", lastProbeTime: new Date("2026-01-02T03:04:05Z"), lastTransitionTime: undefined }],
    },
  });
});

test("the items of a list come in order, with the list's version and continue token", () => {
  const names = ["a", "b", "c"];
  const bytes = podList(
    "7",
    "next",
    names.map((name) => pod({ name, version: "5" })),
  );
  const { metadata, items } = readMessage(bytes, "test", readPodList);
  assert.deepEqual(metadata, { resourceVersion: "7", continue: "next" });
  assert.deepEqual(
    items.map((item) => item.metadata?.name),
    names,
  );
});

/** What `read` makes of a field whose content is `bytes`. */
function readField<T>(bytes: Buffer, read: (reader: MessageReader) => T): T {
  return readMessage(field(1, bytes), "test", (reader) => {
    assert.equal(reader.next(), true);
    const value = read(reader);
    assert.equal(reader.next(), false);
    return value;
  });
}

test("an ObjectMeta has the fields that are read of a pod, and no others", () => {
  const written = time("2026-01-02T03:04:05Z");
  const bytes = message(
    field(1, "web-0"),
    field(2, "web-"),
    field(3, "shop"),
    field(4, "/self"),
    field(5, "u"),
    field(6, "77"),
    field(7, 4),
    field(8, written),
    field(9, time("2026-01-02T03:05:05Z")),
    field(10, 0),
    field(11, entry("app", "web")),
    field(11, entry("empty", "")),
    field(12, entry(annotations.updateTriggerTime, "ü€𝄞")),
    field(12, entry("example.com/long", "x".repeat(1000))),
    field(13, field(1, "owner")),
    field(14, "finalizer"),
    field(17, message(field(1, "kubectl"), field(4, written), field(8, "status"))),
    field(17, field(1, "without a time")),
  );
  assert.deepEqual(readField(bytes, readObjectMeta), {
    name: "web-0",
    namespace: "shop",
    uid: "u",
    resourceVersion: "77",
    creationTimestamp: new Date("2026-01-02T03:04:05Z"),
    deletionTimestamp: new Date("2026-01-02T03:05:05Z"),
    deletionGracePeriodSeconds: 0,
    labels: { app: "web", empty: "" },
    annotations: { [annotations.updateTriggerTime]: "ü€𝄞" },
    managedFields: [{ time: new Date("2026-01-02T03:04:05Z") }, {}],
  });
});

test("a map entry without key or value has an empty one, and a label cannot change what objects are", () => {
  const bytes = message(field(11, field(1, "key")), field(11, field(2, "value")), field(11, entry("__proto__", "x")));
  const { labels } = readField(bytes, readObjectMeta);
  assert.deepEqual(labels, { key: "", "": "value" });
  assert.equal(({} as Record<string, unknown>)["x"], undefined);
});

test("a ListMeta has version and continue token", () => {
  const bytes = message(field(1, ""), field(2, "9"), field(3, "token"), field(4, 12));
  assert.deepEqual(readField(bytes, readListMeta), { resourceVersion: "9", continue: "token" });
});

test("a time is the moment that JSON says, and the zero time is absent", () => {
  const read = (bytes: Buffer): Date | undefined => readField(bytes, readTime);
  for (const text of ["0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]) {
    assert.deepEqual(read(time(text)), new Date(text));
    assert.notEqual(parseTime(read(time(text))), undefined);
    assert.equal(parseTime(read(time(text))), parseTime(text));
  }
  assert.deepEqual(read(message(field(1, 60), field(2, 999_999_999))), new Date(60_000));
  assert.equal(read(Buffer.alloc(0)), undefined);
  for (const seconds of [253_402_300_800, -62_167_219_201, 2n ** 63n - 1n, -(2n ** 63n)]) {
    assert.ok(read(field(1, seconds)) instanceof Date);
    assert.equal(parseTime(read(field(1, seconds))), undefined);
  }
});

const text = readFileSync(new URL("captured.json", import.meta.url), "utf8");
const { kubernetesVersion, exchanges } = JSON.parse(text) as {
  readonly kubernetesVersion: string;
  readonly exchanges: readonly Exchange[];
};

for (const exchange of exchanges) {
  test(`${exchange.name} from Kubernetes ${kubernetesVersion} is decoded field by field as its JSON`, async () => {
    assert.ok((await compareExchange(exchange)) >= 1 || exchange.name === "an empty list");
  });
}

const fields =
  "name namespace uid resourceVersion creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels " +
  "managedFields continue phase conditions lastTransitionTime podseidon.kubewharf.io/update-trigger-time " +
  "k8s.io/initial-events-end message reason code causes retryAfterSeconds";

test("every field that is in use has a value in some capture", () => {
  const json = JSON.stringify(exchanges.map((exchange) => exchange.json));
  for (const field of fields.split(" ")) {
    assert.ok(json.includes(`"${field}":`), field);
  }
  for (const value of [
    '"BOOKMARK"',
    '"ERROR"',
    '"DELETED"',
    '"deletionGracePeriodSeconds":0',
    '"deletionGracePeriodSeconds":30',
  ]) {
    assert.ok(json.includes(value), value);
  }
});
