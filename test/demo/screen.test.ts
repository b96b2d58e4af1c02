import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { createLiveScreen, createPlainScreen } from "../../scripts/demo/screen.ts";
import { sampleState } from "./view/sample-state.ts";
import { createStyle } from "../../scripts/demo/view/style.ts";

const style = createStyle({ colour: false, utf8: false });

function recordingOutput(): { writes: string[]; output: { columns: number; rows: number; write(text: string): void } } {
  const writes: string[] = [];
  return { writes, output: { columns: 80, rows: 24, write: (text) => void writes.push(text) } };
}

test("the first picture is there at once, and a terminal gets at most ten in a second", async () => {
  const clock = createVirtualClock();
  const { writes, output } = recordingOutput();
  const screen = createLiveScreen(output, clock, style);
  screen.open(() => ({ ...sampleState, elapsedMs: clock.monotonicMs() }));
  assert.match(writes.join(""), /Act 2/);
  const before = writes.length;
  await clock.advance(1000);
  const pictures = writes.length - before;
  assert.ok(pictures >= 2 && pictures <= 10, `${pictures} pictures`);
  screen.close();
});

test("what did not change is not written again", async () => {
  const clock = createVirtualClock();
  const { writes, output } = recordingOutput();
  const screen = createLiveScreen(output, clock, style);
  let elapsedMs = 0;
  screen.open(() => ({ ...sampleState, elapsedMs }));
  const before = writes.length;
  await clock.advance(1000);
  assert.equal(writes.length, before);
  elapsedMs = 5000;
  await clock.advance(1000);
  assert.equal(writes.length, before + 1);
  assert.match(writes.at(-1) ?? "", /5\.0 s/);
  assert.doesNotMatch(writes.at(-1) ?? "", /Act 2/);
  screen.close();
});

test("a new size of the terminal draws everything again", async () => {
  const clock = createVirtualClock();
  const { writes, output } = recordingOutput();
  const screen = createLiveScreen(output, clock, style);
  screen.open(() => sampleState);
  output.columns = 100;
  await clock.advance(1000);
  assert.match(writes.at(-1) ?? "", /Act 2/);
  screen.close();
});

test("closing gives the terminal back once, and nothing is drawn any more", async () => {
  const clock = createVirtualClock();
  const { writes, output } = recordingOutput();
  const screen = createLiveScreen(output, clock, style);
  screen.open(() => ({ ...sampleState, elapsedMs: clock.monotonicMs() }));
  screen.close();
  const atClose = writes.length;
  assert.match(writes.at(-1) ?? "", /\u001B\[\?1049l$/);
  screen.close();
  await clock.advance(1000);
  assert.equal(writes.length, atClose);
});

test("lines for a file come every two seconds while something changes, and have no escape sequences", async () => {
  const clock = createVirtualClock();
  const { writes, output } = recordingOutput();
  const screen = createPlainScreen(output, clock);
  let available = 100;
  screen.open(() => ({
    ...sampleState,
    elapsedMs: clock.monotonicMs(),
    services: [{ ...sampleState.services[0]!, available }],
  }));
  await clock.advance(6000);
  assert.equal(writes.length, 1);
  available = 90;
  await clock.advance(2000);
  assert.equal(writes.length, 2);
  screen.act(0, sampleState.act);
  screen.remark({ atMs: 0, text: "something happened" });
  assert.match(writes.slice(2).join(""), /Act 2[^]*something happened/);
  assert.doesNotMatch(writes.join(""), /\u001B/);
  screen.close();
});
