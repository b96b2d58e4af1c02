/** A reporter of node:test that tells the process that started this one, and prints nothing but diagnostics. */
import { type EventData } from "node:test";
import { type TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { tell } from "./messages.ts";

/** By id: a test, or at the top the file that process.ts runs as if it were one. */
const known = new Map<number, { readonly name: string; readonly parentId: number | undefined }>();

/** Its file, and its name behind those of the tests and suites around it. */
function placeOf(testId: number): { readonly file: string; readonly name: string } {
  const names: string[] = [];
  for (let one = known.get(testId); one !== undefined; one = known.get(one.parentId ?? -1)) names.unshift(one.name);
  const [file = "", ...others] = names;
  return { file, name: others.join(" > ") };
}

/** Counts are summed over all processes by the one that started them. */
const isTotal = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

/** Undefined for a test that fails because one inside it does. */
function reasonOf({ details: { error } }: EventData.TestFail): string | undefined {
  if ("failureType" in error && error.failureType === "subtestsFailed") return undefined;
  return inspect(error.cause ?? error, { colors: false });
}

function pass(event: TestEvent): void {
  switch (event.type) {
    case "test:enqueue":
      known.set(event.data.testId, event.data);
      break;
    case "test:start":
      tell({ type: "started", ...placeOf(event.data.testId) });
      break;
    case "test:fail": {
      const why = reasonOf(event.data);
      if (why !== undefined) tell({ type: "failed", ...placeOf(event.data.testId), why });
      break;
    }
    case "test:pass": {
      const { testId, nesting, details, skip } = event.data;
      if (nesting === 0 || details.type === "suite") break;
      const isSkipped = skip !== undefined && skip !== false;
      if (isSkipped) tell({ type: "skipped", ...placeOf(testId), why: String(skip) });
      else tell({ type: "passed", ...placeOf(testId) });
      break;
    }
    default:
  }
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    pass(event);
    // What went wrong after a test had ended.
    if (event.type !== "test:diagnostic" || event.data.nesting > 0 || isTotal.test(event.data.message)) continue;
    yield `${event.data.message}\n`;
  }
}
