import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { cellClient } from "../../../../src/webhook/decide/cell-clients.ts";

const client = { cluster: "worker" } as unknown as KubeClient;

describe("worker clients", () => {
  it("none: no cell has one", () => {
    const found = cellClient({ kind: "none" }, "c1");
    assert.ok(!found.ok);
    assert.equal(found.tag, "NoneProvider");
  });

  it("single: every cell has the same", () => {
    const found = cellClient({ kind: "single", client }, "anything");
    assert.ok(found.ok);
    assert.equal(found.client, client);
  });

  it("map: each cell has its own, others are unknown", () => {
    const workers = { kind: "map", clients: new Map([["c1", client]]) } as const;
    assert.ok(cellClient(workers, "c1").ok);
    const found = cellClient(workers, "c2");
    assert.ok(!found.ok);
    assert.equal(found.tag, "UnknownCell");
    assert.equal(found.reason, 'unknown cell "c2"');
  });
});
