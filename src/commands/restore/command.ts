/**
 * `podseidon restore crd`: the way back when somebody has deleted the CRD of PodProtectors
 * (docs/disasters.md#the-crd-is-lost). Each step looks at what is there, so a run that was interrupted is simply
 * started again.
 */
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { asKubeError, isKubeError, type KubeClient } from "../../kube/kube-client.ts";
import { definitionName, readDefinition, type ReadDefinition } from "../../kube/pod-protectors.ts";
import { printable } from "../../util/printable.ts";
import { onClusters } from "../clusters/open.ts";
import { coreOptions } from "../clusters/options.ts";
import {
  type Command,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  valueOf,
  wrongUsage,
} from "../command.ts";
import { wrapped } from "../text/format.ts";
import {
  createDefinition,
  findLeader,
  listRaw,
  type RestoreSite,
  stripFinalizers,
  waitEstablished,
  waitGone,
} from "./restored-definition.ts";
import { isReleased, type RestoredCounts, restoreObjects } from "./restored-objects.ts";
import { merged, nameOf, readSaved, type SavedObjects, writeSaved } from "./saved-objects.ts";

export const restore: Command = {
  usage: "restore <what>",
  summary: "Bring back what was lost: crd",
  options: [
    ...coreOptions,
    { usage: "--file <file>", description: "Where objects are saved; podprotectors.json" },
    { usage: "--dry-run", description: "Say what would be done, and do nothing" },
  ],
  examples: ["restore crd --dry-run", "restore crd --file=podprotectors.json"],
  words: ["crd"],
  async run(context, options, what) {
    if (what !== "crd") return wrongUsage(`restore: ${quote(String(what))} is unknown; allowed: crd`);
    return onClusters({ context, options, prefix: "restore: " }, async ({ cores, choice }) => {
      const [core, ...others] = cores.values();
      if (core === undefined || others.length > 0) return wrongUsage("restore: give one --core at a time");
      try {
        return await new Restore(context, core, choice.leaseNamespace, options).run();
      } catch (thrown) {
        const error = asKubeError(thrown);
        return failed(`${error.status?.message ?? error.message}. Nothing is lost: run it again`);
      }
    });
  },
};

function failed(problem: string): CommandEnd {
  return { exitCode: 1, problem: `restore crd: ${problem}` };
}

const done: CommandEnd = { exitCode: 0 };

/** Webhooks write a busy object ten times a second, and a round takes less than that for the last few. */
const attemptsMax = 20;

class Restore {
  readonly #context: CommandContext;
  readonly #site: RestoreSite;
  readonly #namespace: string;
  readonly #file: string;
  readonly #isDryRun: boolean;

  constructor(context: CommandContext, core: KubeClient, namespace: string, options: CommandOptions) {
    this.#context = context;
    this.#site = { core, clock: context.clock, signal: context.signal };
    this.#namespace = namespace;
    this.#file = valueOf(options, "file") ?? "podprotectors.json";
    this.#isDryRun = options.has("dry-run");
  }

  /** Throws KubeError. */
  async run(): Promise<CommandEnd> {
    const definition = await this.#definition();
    const saved = readSaved(this.#file);
    if (saved instanceof Problem) return failed(saved.message);
    if (definition.kind === "there" && !definition.isTerminating) {
      const why = nothingToDo(definition.uid, saved);
      if (why !== undefined) {
        this.#context.write(`${why}\n`);
        return done;
      }
    }
    if (definition.kind === "gone" && saved === undefined)
      return failed(`the CRD is gone, and there is no file ${this.#file}. Give the newest that you have by --file`);
    const leader = await findLeader(this.#site, this.#namespace, (line) => this.#tell(line));
    if (leader !== undefined) {
      const stop = `kubectl -n ${this.#namespace} scale deployment podseidon-generator --replicas=0`;
      return failed(`the generator ${leader} leads, and would make objects without status. Stop it first: ${stop}`);
    }
    const items =
      definition.kind === "there" && definition.isTerminating ? await this.#remove(definition.uid, saved) : saved;
    if (items instanceof Problem) return failed(items.message);
    if (items === undefined) return failed(`the CRD is still there. Look at its objects, and run it again`);
    return this.#make(items, definition);
  }

  async #definition(): Promise<Extract<ReadDefinition, { readonly kind: "there" | "gone" }>> {
    const read = await readDefinition(this.#site.core, { signal: this.#site.signal });
    if (read.kind === "there" || read.kind === "gone") return read;
    throw read.error;
  }

  /** Saves what is there, and lets it go as it was saved. Undefined = it does not go. */
  async #remove(definitionUID: string, before: SavedObjects | undefined): Promise<SavedObjects | Problem | undefined> {
    let saved = before;
    for (let attempt = 1; ; attempt += 1) {
      const once = await this.#removeOnce(definitionUID, saved);
      if (once instanceof Problem) return once;
      saved = once.saved;
      if (once.changed === 0) break;
      if (attempt === attemptsMax) return new Problem(`others write ${once.changed} objects again and again`);
    }
    return this.#isDryRun || (await waitGone(this.#site)) ? saved : undefined;
  }

  /** `changed`: how many were written by others after they had been read, and so are still there. */
  async #removeOnce(
    definitionUID: string,
    before: SavedObjects | undefined,
  ): Promise<{ readonly saved: SavedObjects; readonly changed: number } | Problem> {
    const present = await listRaw(this.#site);
    // Of an earlier loss nothing is taken over: what was deleted since would come back.
    const former =
      before?.definitionUID === undefined || before.definitionUID === definitionUID ? (before?.items ?? []) : [];
    const saved = { items: merged(former, present), definitionUID, isRestored: false };
    this.#say(`save ${saved.items.length} PodProtectors with their status in ${this.#file}`);
    if (!this.#isDryRun) {
      const problem = writeSaved(this.#file, saved);
      if (problem !== undefined) return problem;
    }
    this.#say(`take the finalizers off ${present.length}; they go, and the CRD with the last of them`);
    return { saved, changed: this.#isDryRun ? 0 : await stripFinalizers(this.#site, present) };
  }

  async #make(saved: SavedObjects, definition: ReadDefinition): Promise<CommandEnd> {
    const isThere = definition.kind === "there" && !definition.isTerminating;
    if (!isThere) this.#say(`create the CRD ${definitionName} of this release, and wait until it is served`);
    const released = saved.items.filter(isReleased);
    const wanted = saved.items.length - released.length;
    this.#say(`create ${wanted} PodProtectors, those that are there aside, and give each its status back`);
    if (released.length > 0) this.#say(`leave out ${released.map(nameOf).join(", ")}: released`);
    if (this.#isDryRun) return done;
    if (!isThere) await createDefinition(this.#site);
    if (!(await this.#isEstablished())) return failed("the CRD is not served after a minute. Run it again");
    const counts = await restoreObjects(this.#site, saved.items);
    this.#report(counts);
    if (counts.failures.length > 0)
      return failed(`${counts.failures.length} objects are missing. Mend that, and run it again`);
    const problem = writeSaved(this.#file, { ...saved, isRestored: true });
    if (problem !== undefined) return failed(problem.message);
    this.#say("start the generator again:");
    // On a line of its own, which is not broken, so that it can be copied.
    this.#context.write(`  kubectl -n ${this.#namespace} scale deployment podseidon-generator --replicas=2\n`);
    return done;
  }

  async #isEstablished(): Promise<boolean> {
    try {
      return await waitEstablished(this.#site);
    } catch (error) {
      if (isKubeError(error, "notFound")) return false;
      throw error;
    }
  }

  #report({ created, present, statuses, failures }: RestoredCounts): void {
    this.#context.write(`${created} created, ${present} were there, ${statuses} statuses given back\n`);
    for (const failure of failures) this.#context.complain(failure);
  }

  #say(step: string): void {
    this.#tell(`${this.#isDryRun ? "would " : ""}${step}`);
  }

  #tell(line: string): void {
    this.#context.write(`${wrapped(printable(line), this.#context.terminal.columns).join("\n")}\n`);
  }
}

/** Why a CRD that is there needs nothing; undefined = a run before was interrupted, or a person has made the CRD. */
function nothingToDo(uid: string, saved: SavedObjects | undefined): string | undefined {
  if (saved === undefined) return "The CRD is there, and nobody has deleted it: nothing to restore";
  if (saved.isRestored) return "All objects of that file were restored before: nothing to do";
  if (saved.definitionUID === uid)
    return "The CRD is the one that was saved, and nobody has deleted it: nothing to restore";
  return undefined;
}
