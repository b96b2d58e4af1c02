/**
 * `make attack`: strangers attack the built webhook while API servers go on asking it. Prints a table, and exits with 1
 * when a goal is missed. Everything is on loopback, bounded in count and time, and ends by itself.
 *
 *   SECONDS=60          of each attack
 *   FACTORS="1 2"       how many times the rates that once shut out API servers (docs/security.md#strangers)
 *   ATTACKS="S2 S4 …"   default: all
 *   P99_MS=1000         goal of the legitimate reviews; a busy machine needs more
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { ProcessSet } from "../../scripts/child-processes.ts";
import { quantile } from "../bench/row.ts";
import { choosePorts, type PodseidonProcess, startPodseidon } from "../e2e/fleet/process.ts";
import { type Attack, attacks } from "./attacks.ts";
import { startCore } from "./core.ts";
import { legitimateLoad } from "./legitimate-load.ts";
import { heapAfter, observe } from "./observer.ts";
import { type Tally } from "./strangers.ts";

/** The heap and the memory of the manifests. */
const heapMB = 512;
const memoryMB = 1_024;
/** After an attack: less than half of the heap is in use, and the rest is there for the next one. */
const heapAfterMB = 200;
const heapPatienceMs = 60_000;
/** A fleet's own scrape has some hundred kilobytes. */
const scrapeMBMax = 5;
/** An attacker that hangs is ended. */
const attackerGraceMs = 20_000;
const failuresShown = 5;

const fail = (problem: string): never => {
  console.error(`make attack: ${problem}`);
  process.exit(2);
};
const numberOf = (name: string, text: string): number => {
  const value = Number(text);
  return value > 0 && Number.isFinite(value) ? value : fail(`${name} must be a number above 0, not ${text}`);
};
const { SECONDS = "60", FACTORS = "1 2", ATTACKS = "", P99_MS = "1000" } = process.env;
const seconds = numberOf("SECONDS", SECONDS);
const factors = FACTORS.split(" ").map((factor) => numberOf("FACTORS", factor));
const p99Goal = numberOf("P99_MS", P99_MS);
const chosen = ATTACKS === "" ? attacks : ATTACKS.split(" ").map(attackOf);

function attackOf(name: string): Attack {
  const names = attacks.map((attack) => attack.name).join(" ");
  return attacks.find((attack) => attack.name === name) ?? fail(`ATTACKS must be some of ${names}, not ${name}`);
}

async function attackWith(attack: Attack, port: number, factor: number, processes: ProcessSet): Promise<Tally> {
  const program = new URL("attacker.ts", import.meta.url);
  const args = [attack.name, String(port), String(factor), String(seconds)];
  const child = fork(program, args, {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  processes.track(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000 + attackerGraceMs);
  const exited = once(child, "exit");
  const output = await text(child.stdout!);
  await exited;
  clearTimeout(timer);
  return output === "" ? { sent: 0, answers: { none: 1 } } : (JSON.parse(output) as Tally);
}

/** Prints one row; returns the goals that were missed. */
async function row(
  attack: Attack,
  factor: number,
  webhook: PodseidonProcess,
  processes: ProcessSet,
): Promise<string[]> {
  const { ports, process: child } = webhook;
  const run = `${attack.name}x${factor}`;
  const [tally, load, seen] = await Promise.all([
    attackWith(attack, ports.webhook, factor, processes),
    legitimateLoad(ports.webhook, seconds, run),
    observe(ports, child.pid, seconds),
  ]);
  if (child.exit() !== undefined) return [`${run}: the webhook has ended: ${JSON.stringify(child.exit())}`];
  const heapMBAfter = await heapAfter(ports, heapAfterMB, heapPatienceMs);
  const p99 = quantile(load.latenciesMs, 0.99);
  const max = Math.max(...load.latenciesMs);
  const cells = [
    run.padEnd(7),
    `${load.latenciesMs.length - load.failures.length}/${load.latenciesMs.length}`.padStart(9),
    [quantile(load.latenciesMs, 0.5), p99, max].map((ms) => ms.toFixed(0).padStart(6)).join(" "),
    String(seen.unlive).padStart(7),
    String(seen.unready).padStart(7),
    seen.peakMB.toFixed(0).padStart(8),
    heapMBAfter.toFixed(0).padStart(8),
    seen.scrapeMB.toFixed(1).padStart(7),
    ` ${tally.sent} ${JSON.stringify(tally.answers).replaceAll('"', "")}`,
  ];
  console.log(cells.join(" "));
  for (const failure of load.failures.slice(0, failuresShown)) console.log(`        ${failure}`);
  const goals: readonly (readonly [boolean, string])[] = [
    [load.failures.length === 0, `${load.failures.length} legitimate reviews failed`],
    [p99 < p99Goal, `p99 is ${p99.toFixed(0)} ms, goal ${p99Goal}`],
    [seen.unlive === 0, `${seen.unlive} liveness probes failed`],
    [seen.unready === 0, `${seen.unready} readiness probes failed, though reviews were decided`],
    [seen.peakMB < memoryMB, `the process took ${seen.peakMB.toFixed(0)} MB of ${memoryMB}`],
    [heapMBAfter < heapAfterMB, `${heapMBAfter.toFixed(0)} MB of heap are in use afterwards, goal ${heapAfterMB}`],
    [seen.scrapeMB < scrapeMBMax, `a scrape has ${seen.scrapeMB.toFixed(1)} MB, goal ${scrapeMBMax}`],
  ];
  return goals.filter(([isReached]) => !isReached).map(([, missed]) => `${run}: ${missed}`);
}

async function main(): Promise<number> {
  const processes = new ProcessSet();
  process.on("exit", () => processes.killAll());
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-attack-"));
  const core = await startCore();
  const kubeconfig = path.join(directory, "kubeconfig");
  core.writeKubeconfig(kubeconfig);
  const ports = await choosePorts();
  const webhook = await startPodseidon({
    processes,
    name: "webhook",
    directory,
    role: "webhook",
    ports,
    args: [
      `--core-kube-config=${kubeconfig}`,
      "--silent-cell-policy=keep",
      "--webhook-bind-addr=127.0.0.1",
      `--webhook-port=${ports.webhook}`,
      "--webhook-worker-client-provider=single",
      `--webhook-worker-client-provider.single-kube-config=${kubeconfig}`,
    ],
    env: { NODE_OPTIONS: `--max-old-space-size=${heapMB}` },
  });
  for (const { name, what } of chosen) console.log(`${name.padEnd(5)} ${what}`);
  console.log(`\nEach for ${seconds} s at the rates of ${factors.join(" and ")} times that. Log: ${directory}`);
  console.log(
    "attack   reviews    p50    p99    max ms  unlive unready peak MB  heap MB  scrape  strangers: sent, answers",
  );
  const missed: string[] = [];
  for (const factor of factors) {
    for (const attack of chosen) {
      missed.push(...(await row(attack, factor, webhook, processes)));
      if (webhook.process.exit() !== undefined) break;
    }
  }
  await webhook.terminate();
  await core.close();
  await processes.end();
  for (const line of missed) console.log(`MISSED ${line}`);
  if (missed.length === 0) console.log("All goals are reached.");
  return missed.length === 0 ? 0 : 1;
}

process.exit(await main());
