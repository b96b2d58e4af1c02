import assert from "node:assert/strict";
import { test } from "node:test";
import { createHumanLines } from "../../../src/observability/human-lines.ts";

const time = "2026-01-02T03:04:05.678901Z";

async function shown(fields: Record<string, unknown>, level = "info"): Promise<string> {
  const print = await createHumanLines(false);
  return print(JSON.stringify({ level, time, ...fields }));
}

test("an entry for a person has fields in lines of 100 columns, and what does not fit is indented", async () => {
  const text = await shown({
    role: "webhook",
    podProtector: "core/shop/deployment-checkout",
    pod: "shop/checkout-68c4d9f7b5-x2x9k",
    cell: "worker-1",
    user: "system:serviceaccount:kube-system:replicaset-controller",
    mustStay: 34,
    free: 0,
    msg: "Refused a deletion",
  });
  const lines = text.trimEnd().split("\n");
  assert.deepEqual(lines, [
    "[03:04:05.678Z] INFO: Refused a deletion role=webhook podProtector=core/shop/deployment-checkout",
    "    pod=shop/checkout-68c4d9f7b5-x2x9k cell=worker-1",
    "    user=system:serviceaccount:kube-system:replicaset-controller mustStay=34 free=0",
  ]);
  assert.ok(lines.every((line) => line.length <= 100));
});

test("a text that is longer than a line is broken between its words", async () => {
  const message = "PodProtector core/shop/deployment-checkout reports too few available replicas. ".repeat(4).trim();
  const lines = (await shown({ message, msg: "Review decided" })).trimEnd().split("\n");
  assert.ok(lines.length > 3 && lines.every((line) => line.length <= 100), lines.join("\n"));
  assert.ok(lines.slice(1).every((line) => line.startsWith("    ")));
  assert.ok(
    lines
      .map((line) => line.trim())
      .join(" ")
      .includes(`message="${message}"`),
  );
});

test("a field that is called name stands with the others", async () => {
  assert.equal(await shown({ name: "api-68c4", msg: "m" }), "[03:04:05.678Z] INFO: m name=api-68c4\n");
});

test("an error is its message, and a mistake in the program has its stack besides", async () => {
  const ofCluster = { type: "KubeError", kind: "network", message: "GET /api: connect ECONNREFUSED" };
  const line = await shown({ err: ofCluster, msg: "m" }, "warn");
  assert.equal(line, '[03:04:05.678Z] WARN: m err="GET /api: connect ECONNREFUSED"\n');
  const bug = { type: "TypeError", message: "x", stack: "TypeError: x\n    at f" };
  assert.match(await shown({ err: bug, msg: "m" }), / err=x stack="TypeError: x\\n    at f"\n$/);
});

test("an object has a word for each of its fields, so that settings are lines and no long JSON", async () => {
  const settings = { role: "webhook", "klog-v": 4, deep: { er: 1 } };
  assert.match(
    await shown({ settings, msg: "m" }),
    / settings\.role=webhook settings\.klog-v=4 settings\.deep=\{"er":1\}\n$/,
  );
});

test("values with spaces, quotes or line breaks are quoted, and lists are short JSON", async () => {
  const text = await shown({ a: "b c", d: 'e"f', g: "h\ni", roles: ["webhook"], on: true, msg: "m" });
  assert.match(text, / a="b c" d="e\\"f" g="h\\ni" roles=\["webhook"\] on=true\n$/);
});
