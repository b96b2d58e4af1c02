/**
 * `podseidon uninstall`: takes Podseidon out of a cluster in the safe order (steps.ts), also when half of it is gone
 * (docs/commands.md#uninstall).
 */
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { assert } from "../../util/assert.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, type OutputFormat, outputOption, readClusterChoice, workerOption } from "../clusters/options.ts";
import {
  type Command,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  valueOf,
  wrongUsage,
} from "../command.ts";
import { jsonText, lines, shellWord } from "../text/format.ts";
import { type Reason, reasonsAgainst, type Workers } from "./asking-clusters.ts";
import { clear, type Cleared } from "./clear.ts";
import { isEmpty, planJson, type PlannedStep, planText } from "./report.ts";
import { type Part, parts, stepsOf } from "./steps.ts";
import { type Site } from "./target.ts";

export const uninstall: Command = {
  usage: "uninstall <part>",
  summary: "Take Podseidon out of a core, worker or single",
  options: [
    ...coreOptions,
    workerOption,
    outputOption,
    { usage: "--dry-run", description: "Print the plan, and do nothing" },
    { usage: "--yes", description: "Carry the plan out" },
    { usage: "--force", description: "Also while workers still ask this core" },
  ],
  examples: [
    "uninstall worker --worker=w1=my-worker --dry-run",
    "uninstall core --core=my-core --yes",
    "uninstall single --yes",
  ],
  words: parts,
  async run(context, options, given) {
    const part = parts.find((one) => one === given);
    if (part === undefined)
      return wrongUsage(`uninstall: ${quote(String(given))} is unknown; allowed: ${parts.join(", ")}`);
    const found = optionsFor(part, options);
    const [chosen, problem] = found instanceof Problem ? [options, found.message] : [found];
    return onClusters({ context, options: chosen, problem, prefix: "uninstall: " }, (clusters, output) =>
      new Uninstall({ context, options, part, clusters, output }).run(),
    );
  },
};

/** The cluster of a worker stands in the place of the core: no core is connected to. */
function optionsFor(part: Part, options: CommandOptions): CommandOptions | Problem {
  const choice = readClusterChoice(options);
  if (choice instanceof Problem) return choice;
  const [first, ...others] = choice.workers.values();
  if (part !== "worker") return choice.cores.size === 1 ? options : new Problem("give one --core at a time");
  if (options.has("core")) return new Problem("a worker is given by --worker CELL=CONTEXT, without --core");
  if (first === undefined || others.length > 0) return new Problem("give one --worker CELL=CONTEXT at a time");
  // With a name before it, so that a context with "=" in it is one.
  return new Map([...options, ["core", [`worker=${first}`]], ["worker", []]]);
}

interface Request {
  readonly context: CommandContext;
  readonly options: CommandOptions;
  readonly part: Part;
  readonly clusters: OpenClusters;
  readonly output: OutputFormat;
}

class Uninstall {
  readonly #context: CommandContext;
  readonly #part: Part;
  readonly #site: Site;
  readonly #workers: Workers;
  /** Of the worker that goes. */
  readonly #cell: string | undefined;
  readonly #isJson: boolean;
  readonly #isDryRun: boolean;
  readonly #isConfirmed: boolean;
  readonly #isForced: boolean;

  constructor({ context, options, part, clusters, output }: Request) {
    this.#context = context;
    this.#part = part;
    const [[cluster, client] = []] = [...clusters.cores];
    assert(cluster !== undefined && client !== undefined, "a cluster is always opened");
    const { clock, signal } = context;
    this.#site = { client, cluster, clock, signal, namespace: clusters.choice.leaseNamespace };
    this.#workers = clusters.workers;
    this.#cell = part === "worker" ? valueOf(options, "worker")?.replace(/=.*$/, "") : undefined;
    this.#isJson = output === "json";
    this.#isDryRun = options.has("dry-run");
    this.#isConfirmed = options.has("yes");
    this.#isForced = options.has("force");
  }

  async run(): Promise<CommandEnd> {
    const reasons = await reasonsAgainst(this.#part, this.#site, this.#workers);
    const plan: PlannedStep[] = [];
    for (const step of stepsOf(this.#part)) plan.push({ step, found: await step.find(this.#site) });
    const isRefused = reasons.length > 0 && !this.#isForced;
    const isCarriedOut = this.#isConfirmed && !this.#isDryRun && !isRefused;
    this.#say(planText(plan, this.#context.terminal));
    for (const reason of reasons) this.#sayLine(isRefused ? refusal(reason) : `by force, although ${reason.text}`);
    const results = isCarriedOut && !isEmpty(plan) ? await this.#carryOut(plan) : [];
    if (this.#isJson) this.#context.write(jsonText({ ...this.#json(plan, reasons, isRefused), results }));
    if (isRefused) return failed("nothing was changed, for the reasons above. --force does it nevertheless");
    if (isEmpty(plan)) {
      this.#sayLine("Nothing of Podseidon is left to take away");
      return { exitCode: 0 };
    }
    if (this.#isDryRun) return { exitCode: plan.some(({ found }) => found.obstacles.length > 0) ? 1 : 0 };
    if (!this.#isConfirmed) return wrongUsage("uninstall: nothing was changed. To carry this out, add --yes");
    return this.#ended(results);
  }

  /** In turn; what is left of a step would be out of reach, or wedged, after the next. */
  async #carryOut(plan: readonly PlannedStep[]): Promise<readonly Cleared[]> {
    const results: Cleared[] = [];
    for (const [index, { step }] of plan.entries()) {
      const number = index + 1;
      const cleared = await clear(step, this.#site, (line) => this.#context.complain(`step ${number}: ${line}`));
      results.push(cleared);
      const isDone = cleared.left.length === 0;
      this.#sayLine(`step ${number}: ${isDone ? "done" : "not done"}, ${cleared.changed} changed`);
      for (const text of cleared.kept) this.#sayLine(`  ${text}`);
      for (const text of cleared.left.slice(0, leftMax)) this.#sayLine(`  left: ${text}`);
      if (cleared.left.length > leftMax) this.#sayLine(`  and ${cleared.left.length - leftMax} more`);
      if (!isDone) break;
    }
    return results;
  }

  #ended(results: readonly Cleared[]): CommandEnd {
    const left = results.at(-1)?.left ?? [];
    if (left.length > 0)
      return failed(`step ${results.length} is not done, and none after it was begun. Mend that, and run it again`);
    const kept = results.flatMap((one) => one.kept);
    this.#sayLine(kept.length === 0 ? "Podseidon is gone" : "Podseidon is gone, except what is named above");
    if (this.#cell !== undefined) {
      const forget = `${this.#context.program} cells forget ${shellWord(this.#cell)}`;
      this.#sayLine(`In a core that stays the cell will be silent. To retire it there: ${forget}`);
    }
    return { exitCode: 0 };
  }

  #json(plan: readonly PlannedStep[], reasons: readonly Reason[], isRefused: boolean): object {
    return { part: this.#part, isDryRun: this.#isDryRun, isRefused, reasons, steps: planJson(plan) };
  }

  #say(text: string): void {
    if (!this.#isJson) this.#context.write(text);
  }

  #sayLine(text: string): void {
    this.#say(lines(text, this.#context.terminal.columns, "    "));
  }
}

function refusal({ text, cure }: Reason): string {
  return cure === undefined ? `not now: ${text}` : `not now: ${text}. ${cure}`;
}

/** Objects that are named when a step fails; with a right that is missing there may be thousands. */
const leftMax = 10;

function failed(problem: string): CommandEnd {
  return { exitCode: 1, problem: `uninstall: ${problem}` };
}
