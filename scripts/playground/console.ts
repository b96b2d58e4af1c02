/** What can be typed into the playground: to break Podseidon, to mend it, and to be the disaster. */
import path from "node:path";
import { type Engine, isApiError, builtInResources as types } from "../../test/double/index.ts";
import { namespace } from "../demo/scenario.ts";
import { wrap } from "../demo/view/state.ts";
import { type DemoRole } from "../demo/world/role-process.ts";

/** What is broken and mended: a part of a fleet. */
export interface Breakable {
  readonly cells: readonly { readonly server: { readonly engine: Engine } }[];
  readonly podseidon: {
    readonly roles: readonly Pick<DemoRole, "name" | "pid" | "state" | "logFile" | "kill">[];
    restart(name: string): Promise<void>;
  };
}

export const consoleHelp: readonly string[] = [
  "Break something: type here, then Enter",
  "  stop aggregator-worker-3    kill -9 of a process; start NAME brings it back",
  "  runaway                     a controller asks to delete every pod there is",
  "  processes                   what runs, and where it logs",
  "  help                        all of this again",
];

const runaway = {
  username: "system:serviceaccount:kube-system:runaway-controller",
  groups: ["system:serviceaccounts", "system:authenticated"],
};
const columns = 78;

interface Outcome {
  readonly result: "admitted" | "refused" | "unanswered";
  readonly message: string;
}

async function deletePod(engine: Engine, pod: string): Promise<Outcome | undefined> {
  try {
    await engine.delete(types.pods, namespace, pod, {}, { caller: runaway });
    return { result: "admitted", message: "" };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { code, message } = error.status;
    if (code === 404) return undefined; // somebody else was quicker
    return { result: code === 429 ? "refused" : "unanswered", message: message ?? "" };
  }
}

/** Asks to delete every pod of the services in all cells at the same moment, once. */
async function deleteAll({ cells }: Breakable): Promise<readonly string[]> {
  const asked = cells.flatMap(({ server: { engine } }) =>
    engine.list(types.pods, namespace).items.map(({ metadata }) => deletePod(engine, metadata.name)),
  );
  const outcomes = (await Promise.all(asked)).filter((outcome) => outcome !== undefined);
  const count = (result: Outcome["result"]): number => outcomes.filter((one) => one.result === result).length;
  const unanswered = count("unanswered");
  const last = outcomes.findLast(({ message }) => message !== "");
  return [
    `${outcomes.length} deletions: ${count("admitted")} admitted, ${count("refused")} refused` +
      `${unanswered === 0 ? "" : `, ${unanswered} not answered`}.`,
    ...(last === undefined ? [] : ["One of the answers:", ...wrap(last.message, columns).map((line) => `  ${line}`)]),
  ];
}

async function stop({ podseidon }: Breakable, name: string): Promise<readonly string[]> {
  const role = podseidon.roles.find((one) => one.name === name);
  if (role === undefined) return [unknownProcess(name)];
  if (role.state === "gone") return [`${name} does not run; start ${name} starts it`];
  await role.kill();
  return [`${name} (pid ${role.pid}) is killed; start ${name} brings it back`];
}

async function start({ podseidon }: Breakable, name: string): Promise<readonly string[]> {
  const role = podseidon.roles.find((one) => one.name === name);
  if (role === undefined) return [unknownProcess(name)];
  if (role.state !== "gone") return [`${name} runs already (pid ${role.pid})`];
  await podseidon.restart(name);
  return [`${name} is ready`];
}

function unknownProcess(name: string): string {
  return name === "" ? "which process? processes lists them" : `no process is called ${name}; processes lists them`;
}

function processes({ podseidon }: Breakable): readonly string[] {
  const lines = podseidon.roles.map(({ name, pid, state }) => {
    const what = state === "gone" ? "gone" : `${state}, pid ${pid}`;
    return `  ${name.padEnd(24)} ${what}`;
  });
  const logs = new Set(podseidon.roles.map(({ logFile }) => path.dirname(logFile)));
  return [...lines, "Their logs:", ...Array.from(logs, (folder) => `  ${folder}`)];
}

/**
 * Carries out what was typed, and returns what to print. `help` returns what `help` is given. Rejects when a process
 * that was started again ends.
 */
export async function carryOut(line: string, fleet: Breakable, help: readonly string[]): Promise<readonly string[]> {
  const [verb = "", name = ""] = line.trim().split(/\s+/);
  switch (verb) {
    case "":
      return [];
    case "help":
      return help;
    case "processes":
      return processes(fleet);
    case "runaway":
      return await deleteAll(fleet);
    case "stop":
      return await stop(fleet, name);
    case "start":
      return await start(fleet, name);
    default:
      return [`unknown: ${verb}. Type help, or end the playground with Ctrl-C`];
  }
}
