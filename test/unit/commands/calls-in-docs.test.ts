import assert from "node:assert/strict";
import { test } from "node:test";
import { readPages } from "../../pages/pages.ts";
import { createFleet } from "./support/fleet.ts";

/** Calls of a command in the pages: in a line of their own, or between backquotes. */
function callsIn(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/(?:^|`)(?:\$ )?(?:kubectl )?podseidon ([a-z][^`\n#>|]*)/gm)].map(([, call = ""]) =>
    (call.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll(/["']/g, "")),
  );
}

test("every call of a command in the pages is one that the program takes", async (t) => {
  const fleet = await createFleet();
  t.mock.method(console, "info", () => {});
  let found = 0;
  for (const { file, text } of readPages()) {
    for (const call of callsIn(text)) {
      const { exitCode, problem = "" } = await fleet.run(...call, "--help");
      // Such as a name of a process or a file.
      if (problem.startsWith("unknown command")) continue;
      assert.deepEqual([exitCode, problem], [0, ""], `${file}: podseidon ${call.join(" ")}`);
      found += 1;
    }
  }
  assert(found > 20, `only ${found} calls were found`);
});

test("a call that the program does not take would be found", async () => {
  const [call = []] = callsIn("$ podseidon status --al -n 'a b' # why\n");
  assert.deepEqual(call, ["status", "--al", "-n", "a b"]);
  assert.equal((await (await createFleet()).run(...call, "--help")).exitCode, 2);
});
