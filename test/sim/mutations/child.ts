/**
 * A process with one mutation: lives worlds from seed to seed until something is found. Arguments: the name of the mutation, "mutated" or "plain" (the
 * same worlds with the code as it is), the first and the last seed, and the time in milliseconds after which no further world begins. Writes a JSON line before each world, and one at the end.
 */
import { type live as Live } from "../life.ts";
import { Copies } from "../scenarios/without-rule.ts";
import { mutations } from "./catalog.ts";
import { type ChildLine } from "./check.ts";

const [name, code, first, last, limitMs] = process.argv.slice(2);
const mutation = mutations.find((one) => one.name === name);
if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
const { live } = await new Copies().load<{ live: typeof Live }>(
  new URL("../life.ts", import.meta.url),
  code === "plain" ? [] : [mutation],
);

function say(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function found(seed: number, how: "checker" | "crash", finding: string): never {
  say({ kind: "caught", seed, how, finding });
  process.exit(0);
}

let seed = Number(first);
process.on("uncaughtException", (error) => found(seed, "crash", String(error)));
process.on("unhandledRejection", (reason) => found(seed, "crash", String(reason)));

const startMs = performance.now();
const { only, plan = {} } = mutation;
const overrides = { plan, ...(only !== undefined && { only: new Set(only) }) };
for (; seed <= Number(last) && performance.now() - startMs < Number(limitMs); seed += 1) {
  say({ kind: "seed", seed });
  const { failure } = await live({ seed, ...overrides });
  if (failure !== undefined) found(seed, "checker", failure.message);
}
say({ kind: "survived", worlds: seed - Number(first) });
