import assert from "node:assert/strict";
import { test } from "node:test";
import { createSettingsReload } from "../../../src/roles/settings-reload.ts";
import { load, type World } from "../config/load.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";

const argv = ["--role=webhook", "--config=f"];
const world = (text: string): World => ({ files: { f: text } });

/** A process that has started with a file; `hangUp` plays SIGHUP with the file's new text. */
async function started(text: string) {
  const first = load(argv, world(text));
  assert(first.kind === "config");
  const logger = createRecordingLogger();
  const applied: number[] = [];
  let next = text;
  const listeners = new Set<() => void>();
  const component = createSettingsReload({
    load: () => load(argv, world(next)),
    effective: first.effective,
    applyVerbosity: (verbosity) => applied.push(verbosity),
    logger,
    onHangup(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  await component.start();
  const hangUp = (newText: string): void => {
    next = newText;
    for (const listener of listeners) listener();
  };
  return { component, logger, applied, hangUp };
}

test("a hang-up applies another verbosity, each time it has changed", async () => {
  const { applied, hangUp } = await started("klog-v: 1");
  hangUp("klog-v: 4");
  hangUp("klog-v: 4");
  hangUp("");
  assert.deepEqual(applied, [4, 0]);
});

test("other settings that have changed are named, and not applied", async () => {
  const { applied, hangUp, logger } = await started("webhook-port: 1\nwebhook-allowed-cells: [a]");
  hangUp("webhook-port: 2\nwebhook-allowed-cells: a");
  assert.deepEqual(applied, []);
  assert.deepEqual(logger.entries.at(-1)?.fields["needsRestart"], ["webhook-port"]);
});

test("a mistake keeps the old settings and is told", async () => {
  const { applied, hangUp, logger } = await started("klog-v: 1");
  hangUp("klog-v: 4\nnope: 1");
  assert.deepEqual(applied, []);
  assert.equal(logger.entries.at(-1)?.message, "Settings not reloaded, keeping the old ones");
});

test("nobody listens after the stop", async () => {
  const { applied, component, hangUp } = await started("klog-v: 1");
  await component.stop();
  hangUp("klog-v: 4");
  assert.deepEqual(applied, []);
});
