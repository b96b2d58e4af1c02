/**
 * Writes of a command: each is said before it is sent, in one sentence. With --dry-run the API server is asked with
 * dryRun, so that rights and policies are tried and nothing is stored.
 */
import { type Json } from "../../api/json.ts";
import { type KubeClient, type KubeRequest, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { type Access, reading } from "../clusters/reading.ts";
import { Problem } from "../../config/reading/problem.ts";
import { type CommandContext, type CommandEnd, type CommandOption, type CommandOptions } from "../command.ts";
import { jsonText, lines } from "../text/format.ts";

export interface Change {
  readonly client: KubeClient;
  readonly access: Omit<Access, "cluster">;
  /** What is done, to which object: a sentence without its full stop. */
  readonly what: string;
  readonly request: Pick<KubeRequest, "method" | "path" | "body" | "contentType">;
  /** Of a request that holds for one version: the same by what is there now, or why not. Throws KubeError. */
  readonly again?: (signal: AbortSignal) => Promise<Change | Problem>;
}

/** Webhooks write a busy PodProtector ten times a second. */
const attemptsMax = 20;

interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** Merges `body` into the object at that place. `what`: see Change. */
export function patchOf(client: KubeClient, at: Place, what: string, body: Json): Change {
  const path = resourcePath(at.resource, at);
  const request = { method: "PATCH", path, contentType: "application/merge-patch+json", body } as const;
  return { client, access: { verb: "patch", ...at }, what, request };
}

/** Creates `body` there. `what`: see Change. */
export function creationOf(client: KubeClient, { resource, namespace }: Omit<Place, "name">, what: string, body: Json) {
  const request = { method: "POST", path: resourcePath(resource, { namespace }), body } as const;
  return { client, access: { verb: "create", resource, namespace }, what, request } satisfies Change;
}

/** What follows from the changes, for people. */
export interface ChangeNotes {
  readonly after: readonly string[];
}

export const dryRunOption: CommandOption = {
  usage: "--dry-run",
  description: "Ask the API server, and store nothing",
};

/** Ends at the first change that fails: what follows would rest on it. */
export async function carryOut(
  context: CommandContext,
  options: CommandOptions,
  changes: readonly Change[],
  { after }: ChangeNotes,
): Promise<CommandEnd> {
  const { write, signal, terminal } = context;
  const isDryRun = options.has("dry-run");
  const isJson = options.get("output")?.at(-1) === "json";
  const say = (text: string): void => {
    if (!isJson) write(lines(text, terminal.columns, "  "));
  };
  for (const change of changes) {
    say(`${change.client.cluster}: ${change.what}${isDryRun ? " (dry run)" : ""}`);
    const problem = await send(change, isDryRun ? { dryRun: "All" } : {}, signal);
    if (problem !== undefined) return { exitCode: 1, problem: `nothing was changed by this: ${problem}` };
  }
  if (isJson) {
    const done = changes.map(({ client, what }) => ({ core: client.cluster, what }));
    write(jsonText({ isDryRun, changes: done }));
  }
  if (!isDryRun) for (const text of after) say(text);
  return { exitCode: 0 };
}

/** Undefined = it was carried out, else why not. */
async function send(
  first: Change,
  query: NonNullable<KubeRequest["query"]>,
  signal: AbortSignal,
): Promise<string | undefined> {
  let change = first;
  for (let attempt = 1; ; attempt += 1) {
    const { client, access, request, again } = change;
    const { cluster } = client;
    const sent = await reading({ ...access, cluster }, () => client.request({ ...request, query, signal }));
    if (sent.ok) return undefined;
    if (sent.error.kind !== "conflict" || again === undefined || attempt === attemptsMax) return sent.problem;
    const read = await reading({ ...access, cluster, verb: "get" }, () => again(signal));
    if (!read.ok) return read.problem;
    if (read.value instanceof Problem) return read.value.message;
    change = read.value;
  }
}
