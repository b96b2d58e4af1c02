/** scripts/go/go-tool.ts: where promtool and helm are taken from. Nothing is built here; `make alerts` does that. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { goToolCacheDirectory, GoToolError, resolveGoTool } from "../../scripts/go/go-tool.ts";
import { promtool } from "../../scripts/go/promtool.ts";

const temporary = mkdtempSync(path.join(os.tmpdir(), "promtool-"));
after(() => rmSync(temporary, { recursive: true }));

/** An environment without Go, with a cache of its own. */
const environment = (name: string): NodeJS.ProcessEnv => ({
  PATH: path.join(temporary, "no-programs"),
  XDG_CACHE_HOME: path.join(temporary, name),
});
const ignore = (): void => undefined;

function program(file: string, text = ""): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o755 });
  return file;
}

test("the file that PROMTOOL names comes first, then the cache", async () => {
  const env = environment("both");
  const cached = program(path.join(goToolCacheDirectory(promtool, env), "promtool"));
  const given = program(path.join(temporary, "given"));
  assert.equal(await resolveGoTool(promtool, ignore, env), cached);
  assert.equal(await resolveGoTool(promtool, ignore, { ...env, PROMTOOL: given }), given);
  await assert.rejects(resolveGoTool(promtool, ignore, { ...env, PROMTOOL: `${given}-not` }), GoToolError);
});

test("without promtool and without Go it says what to install", async () => {
  await assert.rejects(
    resolveGoTool(promtool, ignore, environment("empty")),
    /cannot find promtool, and go is not installed\. Install Go .*PROMTOOL/,
  );
});

test("it is built once, from the package of the pinned module, without the clients of clouds", async () => {
  const bin = path.join(temporary, "bin");
  const log = path.join(temporary, "arguments");
  program(
    path.join(bin, "go"),
    `#!/bin/sh
if [ "$1" = env ]; then echo go1.26.0; exit; fi
echo "$@" >> ${log}
while [ "$1" != -o ]; do shift; done
: > "$2" && /bin/chmod 755 "$2"
`,
  );
  const env = { ...environment("built"), PATH: bin };
  const built = await resolveGoTool(promtool, ignore, env);
  assert.equal(await resolveGoTool(promtool, ignore, { ...env, PATH: "" }), built);
  const lines = readFileSync(log, "utf8").trim().split("\n");
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /^build .*remove_all_sd.* github\.com\/prometheus\/prometheus\/cmd\/promtool$/);
});

test("a build that fails shows what go said", async () => {
  const bin = path.join(temporary, "failing");
  const script = '#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; else echo "broken: no room" >&2; exit 1; fi\n';
  program(path.join(bin, "go"), script);
  await assert.rejects(
    resolveGoTool(promtool, ignore, { ...environment("failing"), PATH: bin }),
    /go build of promtool failed \(1\):\nbroken: no room/,
  );
});
