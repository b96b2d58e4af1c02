/** Fleets in which the Go original and this release work side by side. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Component } from "../../../src/lifecycle/component.ts";
import { type Runtime } from "../../../src/roles/runtime.ts";
import { originalRelease } from "./index.ts";
import { alone, chancyFleets, compare } from "./mixed-fleets.ts";
import { assertNeverWorse } from "./never-worse.ts";
import { fleetOf, playMixed } from "./mixed-world.ts";

test("without lag no fleet goes below a floor, whichever of its components are the original's", async () => {
  const { short, deleted, unguarded } = await compare([1], { isLagging: false, wavesMs: 15_000 });
  assert.deepEqual(unguarded, []);
  assert.equal(short.size, 8);
  for (const [name, pods] of short) assert.equal(pods, 0, name);
  assert.ok(deleted > 200, `only ${deleted} deletions: the worlds show little`);
});

test("with watches that lag mixed fleets are not worse than the original alone; our counts hold floors", async () => {
  const { short, deleted, unguarded } = await compare([1, 2, 3, 4, 5, 6], { isLagging: true, wavesMs: 20_000 });
  assertNeverWorse(short, 5, chancyFleets);
  assert.deepEqual(unguarded, []);
  assert.ok(deleted > 500, `only ${deleted} deletions: the worlds show little`);
});

/** Says yes to whatever it is asked. */
async function createYes(runtime: Runtime): Promise<Component[]> {
  const fetch = async (_request: Request, { incoming }: { incoming: AsyncIterable<Buffer> }): Promise<Response> => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
    return Response.json({ ...review, response: { uid: review.request.uid, allowed: true } });
  };
  const { clock, logger, config } = runtime;
  const common = { config: config.webhook.server, connectionsMax: 1, graceMs: 0, clock, logger };
  return [runtime.createServer({ ...common, name: "yes", fetch })];
}

test("a fleet with a webhook that records nothing is found", async () => {
  const forgetful = { ...originalRelease, roles: { ...originalRelease.roles, webhook: createYes } };
  const fleet = { ...fleetOf(originalRelease), webhooks: [originalRelease, forgetful] as const };
  const { short } = await compare([1], { isLagging: false, wavesMs: 5_000 }, { forgetful: fleet });
  assert.equal(short.get(alone), 0);
  assert.ok((short.get("forgetful") ?? 0) > 3);
});

test("a world of a seed is the same twice", async () => {
  const fleet = fleetOf(originalRelease);
  const play = { seed: 3, isLagging: true, wavesMs: 10_000 };
  assert.deepEqual(await playMixed(play, fleet), await playMixed(play, fleet));
});
