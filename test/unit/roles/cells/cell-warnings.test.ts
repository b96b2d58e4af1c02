import assert from "node:assert/strict";
import { test } from "node:test";
import { type Config, loadConfig } from "../../../../src/config/index.ts";
import { warnOfCellNames, warnOfEveryCell } from "../../../../src/roles/cells/cell-warnings.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

function configOf(...argv: string[]): Config {
  const loaded = loadConfig({ argv: ["--role=webhook", ...argv], env: {}, readFile: () => "" });
  assert(loaded.kind === "config");
  return loaded.config;
}

const provider = "--webhook-worker-client-provider";

test("names of cells that are no lower-case DNS names are named in one line, each once", () => {
  const log = new RecordedLog();
  warnOfCellNames(["default", "eu-west.1", "worker-1"], log);
  assert.deepEqual(log.lines, []);
  warnOfCellNames(["Tokyo", "a", "a_b", "Tokyo"], log);
  assert.deepEqual(
    log.lines.map(({ level, fields }) => ({ level, fields })),
    [{ level: "warn", fields: { cells: ["Tokyo", "a_b"] } }],
  );
});

for (const [name, argv] of Object.entries({
  "a worker in another cluster than the core": [`${provider}=single`, `${provider}.single-kube-config=/worker`],
  "a worker at another address than the core": [`${provider}=single`, `${provider}.single-kube-master=https://w`],
  "one worker of a map": [`${provider}=map`, `${provider}.map-configs=a=/a`],
  "several workers, one of them in the core": [`${provider}=map`, `${provider}.map-configs=a=/a,core=`],
})) {
  test(`a webhook that serves every cell of a fleet says so at its start: ${name}`, () => {
    const log = new RecordedLog();
    warnOfEveryCell(configOf(...argv), log);
    assert.equal(log.lines.length, 1);
    assert.match(log.lines[0]?.message ?? "", /^Reviews of every cell are served: set --webhook-allowed-cells /);
    warnOfEveryCell(configOf(...argv, "--webhook-allowed-cells=a"), log);
    assert.equal(log.lines.length, 1);
  });
}

for (const [name, argv] of Object.entries({
  "the worker is the core": [`${provider}=single`],
  "the only worker of the map is the core": [`${provider}=map`, `${provider}.map-configs=default=`],
  "the workers are not known": [],
})) {
  test(`a webhook that serves every cell says nothing when ${name}`, () => {
    const log = new RecordedLog();
    warnOfEveryCell(configOf(...argv), log);
    assert.deepEqual(log.lines, []);
  });
}
