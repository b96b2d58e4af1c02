import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const cases = readdirSync(`${root}test/e2e/cases`, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => readFileSync(`${root}test/e2e/cases/${file}`, "utf8"))
  .flatMap((text) => [...text.matchAll(/^ +"([^"]+: [^"]+)": \[/gm)].map(([, name = ""]) => name));

/** Names in the table, of which the end may be left out: `e2e "mass: 60 …", "lost: the CRD …"`. */
function namedIn(text: string): readonly string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| **"));
  return rows.flatMap((row) => {
    const tests = row.split("|").at(-2) ?? "";
    return [...tests.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name.replace(/ ?…$/, ""));
  });
}

test("every e2e case that the table of disasters names exists", () => {
  const named = namedIn(readFileSync(`${root}docs/disasters.md`, "utf8"));
  assert.ok(named.length >= 10, `only ${named.length} names are found`);
  assert.deepEqual(
    named.filter((name) => !cases.some((one) => one.startsWith(name))),
    [],
  );
});

test("a name that no case has would be found", () => {
  const [name = ""] = namedIn('| **lost moon** | tides | - | - | e2e "moon: it is gone …" |');
  assert.equal(name, "moon: it is gone");
  assert.ok(!cases.some((one) => one.startsWith(name)));
});
