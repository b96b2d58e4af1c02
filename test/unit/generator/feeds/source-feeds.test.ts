import assert from "node:assert/strict";
import { test } from "node:test";
import { createSourceFeeds } from "../../../../src/generator/feeds/source-feeds.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCore } from "../core-cluster.ts";

test("each kind has a feed, in the order of the flag, and only custom resources need discovery", async () => {
  const { engine, clock } = await createCore();
  const made: string[] = [];
  const create = (resource: { readonly resource: string }): never => {
    made.push(resource.resource);
    return { subscribe() {} } as never;
  };
  const { feeds, scaled } = createSourceFeeds(["deployments.apps", "databases.example.com"], {
    core: new EngineClient("core", engine),
    protectors: { get: () => undefined },
    create,
    isLost: async () => false,
    clock,
    rng: createSeededRng(1),
  });
  assert.deepEqual(
    [...feeds.keys()].map(({ id }) => id),
    ["deployments.apps", "databases.example.com"],
  );
  assert.deepEqual(made, ["deployments"], "nobody knows yet what the other is watched by");
  assert.equal([...feeds.keys()][0], deployments);
  assert.deepEqual(
    [...scaled.keys()].map(({ id }) => id),
    ["databases.example.com"],
  );
});
