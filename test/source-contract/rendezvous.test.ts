import assert from "node:assert/strict";
import { test } from "node:test";
import { Rendezvous } from "./rendezvous.ts";

function setUp() {
  const log: string[] = [];
  const note = (what: string) => async () => void log.push(what);
  return { log, note, rendezvous: new Rendezvous(note("stop"), note("start")) };
}

test("what is shared is stopped once for all who ask for it, when the others have left", async () => {
  const { log, note, rendezvous } = setUp();
  await rendezvous.playAll(["a", "b", "c"], async (part) => {
    if (part !== "c") await rendezvous.whileStopped(note(`job of ${part}`));
    log.push(`end of ${part}`);
  });
  assert.deepEqual(log, ["end of c", "stop", "job of a", "job of b", "start", "end of a", "end of b"]);
});

test("one whose job fails hears of it, and everything runs again", async () => {
  const { log, note, rendezvous } = setUp();
  const fail = async (): Promise<never> => assert.fail("the storage is away");
  const played = rendezvous.playAll(["a", "b"], (part) =>
    rendezvous.whileStopped(part === "a" ? fail : note("job of b")),
  );
  await assert.rejects(played, /the storage is away/);
  assert.deepEqual(log, ["stop", "job of b", "start"]);
});
