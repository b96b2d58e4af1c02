/** Label selectors and labels of every kind that a PodProtector may meet, drawn by a world's people. */
import { type JsonObject } from "../../double/engine/object.ts";
import { type Draws } from "../../support/draws.ts";

const workload = { key: "app", operator: "In", values: ["side", "side-2"] };

/** Valid selectors of the pods of bystanders: many, few, all or none of them. */
export function drawSelector(draws: Draws): JsonObject {
  return draws.oneOf<JsonObject>(
    { matchLabels: { app: "side" } },
    { matchLabels: { app: "side", tier: "front" }, matchExpressions: [workload] },
    { matchExpressions: [workload, { key: "tier", operator: "NotIn", values: ["spot", "test"] }] },
    { matchExpressions: [{ key: "tier", operator: "Exists" }, workload] },
    { matchExpressions: [{ key: "tier", operator: "Exists" }] },
    {
      matchExpressions: [
        { key: "tier", operator: "Exists" },
        { key: "tier", operator: "NotIn", values: ["spot"] },
      ],
    },
    { matchExpressions: [{ key: "canary", operator: "DoesNotExist" }] },
    { matchExpressions: [workload, { key: "canary", operator: "DoesNotExist" }] },
    { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["spot", "a value, with signs"] }] },
    {},
    // Nothing can meet these.
    { matchExpressions: [workload, { key: "app", operator: "In", values: ["other"] }] },
    { matchExpressions: [workload, { key: "app", operator: "NotIn", values: ["side", "side-2"] }] },
    { matchExpressions: [{ key: "app", operator: "DoesNotExist" }, workload] },
    // Long lists, many keys, and keys that every object inherits.
    { matchExpressions: [{ ...workload, values: ["side", ...names("v", 40)] }, inList("tier", 3), inList("zone", 5)] },
    { matchExpressions: [workload, ...names("k", 18).map((key) => ({ key, operator: "Exists" }))] },
    { matchExpressions: [workload, { key: "constructor", operator: "DoesNotExist" }] },
  );
}

export function drawLabels(draws: Draws): Readonly<Record<string, string>> {
  return {
    app: draws.oneOf("side", "side", "side-2"),
    ...(draws.chance(0.6) ? { tier: draws.oneOf("front", "spot", "v1") } : {}),
    ...(draws.chance(0.2) ? { canary: "yes" } : {}),
    ...(draws.chance(0.2) ? { zone: "v2" } : {}),
    ...(draws.chance(0.1) ? Object.fromEntries(names("k", 18).map((key) => [key, "x"])) : {}),
  };
}

/** Nothing that can be compiled or even read. */
export function drawBrokenSelector(draws: Draws): unknown {
  return draws.oneOf<unknown>(
    undefined,
    7,
    { matchLabels: { app: 5 } },
    { matchLabels: { app: "side" }, matchExpressions: [{ key: "tier", operator: "Near", values: ["front"] }] },
    { matchLabels: { app: "side" }, matchExpressions: [{ key: "tier", operator: "In", values: [] }] },
    { matchExpressions: [{ key: "tier", operator: "NotIn" }, workload] },
    { matchExpressions: [{ key: "tier", operator: "Exists", values: ["front"] }] },
    { matchExpressions: [{ key: "tier", operator: "DoesNotExist", values: ["front"] }] },
    { matchExpressions: [{ key: 1, operator: "In" }, { key: "tier", operator: "In", values: [2] }, null] },
  );
}

function inList(key: string, count: number): JsonObject {
  return { key, operator: "In", values: names("v", count) };
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}
