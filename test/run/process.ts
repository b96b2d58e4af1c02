/** Runs test files one after the other in this process: `process.ts LIMIT_MS FILE…`. */
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Guard } from "./guard.ts";
import { tell } from "./messages.ts";

const [limit = "", ...files] = process.argv.slice(2);
const limitMs = Number(limit);
/** On a busy machine it takes a while until what was closed is gone. */
const patienceMs = Math.min(10_000, limitMs / 10);

// What node:test itself needs is there before a file is compared with what was before it.
await test("set up", () => {});
for (const file of files) {
  const guard = new Guard();
  tell({ type: "started", file, name: "" });
  // Its tests are tests in this one, and so are its hooks: those of another file do not run for them.
  await test(file, { timeout: limitMs }, async () => {
    await import(pathToFileURL(file).href);
  });
  const left = await guard.leftovers(patienceMs);
  if (left.length > 0) tell({ type: "failed", file, name: "", why: `It leaves behind:\n${left.join("\n")}` });
}
const { userCPUTime, systemCPUTime } = process.resourceUsage();
tell({ type: "done", cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 });
