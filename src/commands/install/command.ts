/**
 * `podseidon install`: puts Podseidon into a cluster from this executable alone, in a safe order (part-steps.ts), as
 * often as one likes (docs/commands.md#install).
 */
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { assert } from "../../util/assert.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import {
  type Command,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  valueOf,
  wrongUsage,
} from "../command.ts";
import { jsonText, lines, shellWord } from "../text/format.ts";
import { type Planned, type Site, type Step } from "./apply.ts";
import { readAddress } from "./hand-over.ts";
import { type InstallOptions, installOptions, parts, readInstallOptions } from "./options.ts";
import { coreSteps, singleSteps, workerSteps } from "./part-steps.ts";
import { printed, systemd } from "./print.ts";
import { readCells, readSettings } from "./settings.ts";

export const install: Command = {
  usage: "install <part>",
  summary: "Put Podseidon into a core, worker or single",
  options: installOptions,
  examples: [
    "install single --image=images.example.com/podseidon:0.1.0",
    "install core --image=example.com/podseidon --webhook-address=a.io",
    "install worker --core=my-core --worker=w1=my-worker --yes",
    "install single --image=images.example.com/podseidon:0.1.0 -o yaml",
    "install systemd --cells=w1 --out=podseidon-systemd",
  ],
  words: parts,
  async run(context, options, given) {
    const part = parts.find((one) => one === given);
    if (part === undefined)
      return wrongUsage(`install: ${quote(String(given))} is unknown; allowed: ${parts.join(", ")}`);
    const asked = readInstallOptions(part, options);
    if (asked instanceof Problem) return wrongUsage(`install: ${asked.message}`);
    if (part === "systemd") return systemd(context, asked);
    if (asked.output === "yaml") return printed(context, asked);
    return onClusters({ context, options, prefix: "install: " }, (clusters) =>
      new Install(context, asked, options, clusters).run(),
    );
  },
};

interface PlannedStep {
  readonly step: Step;
  readonly planned: Planned;
}

interface Result {
  readonly step: string;
  /** What people should know of it. */
  readonly said: readonly string[];
  readonly problem?: string | undefined;
}

class Install {
  readonly #context: CommandContext;
  readonly #asked: InstallOptions;
  readonly #options: CommandOptions;
  readonly #clusters: OpenClusters;

  constructor(context: CommandContext, asked: InstallOptions, options: CommandOptions, clusters: OpenClusters) {
    this.#context = context;
    this.#asked = asked;
    this.#options = options;
    this.#clusters = clusters;
  }

  async run(): Promise<CommandEnd> {
    const steps = await this.#steps();
    if (steps instanceof Problem) return failed(steps.message);
    const plan: PlannedStep[] = [];
    for (const step of steps) plan.push({ step, planned: await step.plan() });
    this.#say(planText(plan, this.#context.terminal.columns));
    const isEmpty = plan.every(({ planned: { changes, unseen } }) => changes.length + unseen.length === 0);
    const isCarriedOut = this.#asked.isConfirmed && !this.#asked.isDryRun;
    const results = isCarriedOut ? await this.#carryOut(plan) : [];
    if (this.#asked.output === "json") this.#context.write(jsonText(this.#json(plan, results)));
    if (isCarriedOut) return this.#ended(results);
    if (isEmpty) this.#sayLine("Everything is in place");
    if (this.#asked.isDryRun) return { exitCode: plan.some(({ planned }) => planned.unseen.length > 0) ? 1 : 0 };
    return wrongUsage("install: nothing was changed. To carry this out, add --yes");
  }

  async #steps(): Promise<readonly Step[] | Problem> {
    const [[, client] = []] = [...this.#clusters.cores];
    assert(client !== undefined, "a core is always opened");
    const { clock, signal } = this.#context;
    const core: Site = { client, clock, signal };
    const { program } = this.#context;
    const coreCommand = `${program} install core --core=${this.#coreText()} --image=IMAGE --webhook-address=HOST --yes`;
    const settings = await readSettings(core, this.#asked, coreCommand);
    if (settings instanceof Problem) return settings;
    const { part } = this.#asked;
    if (part === "single") return singleSteps(core, settings);
    const cells = await readCells(core);
    if (cells instanceof Problem) return cells;
    if (part === "core") return coreSteps(core, settings, cells);
    const [[cell, worker] = []] = [...this.#clusters.workers];
    assert(cell !== undefined && worker !== undefined, "a worker is always opened");
    const { choice } = this.#clusters;
    const addressOf = (context: string | undefined, given: string | undefined) =>
      readAddress(choice.kubeconfig, context, given, this.#context);
    const coreAddress = addressOf([...choice.cores.values()][0], this.#asked.coreServer);
    if (coreAddress instanceof Problem) return coreAddress;
    const workerAddress = addressOf(choice.workers.get(cell), this.#asked.workerServer);
    if (workerAddress instanceof Problem) return workerAddress;
    return workerSteps({
      core,
      worker: { client: worker, clock, signal },
      settings,
      cell,
      cells,
      coreAddress,
      workerAddress,
      tokenSeconds: this.#asked.tokenSeconds,
      folder: this.#asked.out ?? `podseidon-${cell}`,
    });
  }

  /** In turn: each rests on those before. */
  async #carryOut(plan: readonly PlannedStep[]): Promise<readonly Result[]> {
    const results: Result[] = [];
    for (const [index, { step }] of plan.entries()) {
      const said: string[] = [];
      const problem = await step.run((line) => {
        if (line.startsWith("waiting: ")) this.#context.complain(`step ${index + 1}: ${line}`);
        else said.push(line);
      });
      results.push({ step: step.title, said, problem });
      this.#sayLine(`step ${index + 1}: ${problem === undefined ? "done" : "not done"}`);
      for (const line of said) this.#sayLine(`  ${line}`);
      if (problem !== undefined) break;
    }
    return results;
  }

  #ended(results: readonly Result[]): CommandEnd {
    const problem = results.at(-1)?.problem;
    if (problem !== undefined) {
      this.#sayLine("What is done stays. To go on:");
      this.#say(`  ${this.#again()}\n`);
      return failed(`step ${results.length} is not done: ${problem}`);
    }
    const { part } = this.#asked;
    const next = `${this.#context.program} install worker --core=${this.#coreText()} --worker=CELL=CONTEXT --yes`;
    this.#sayLine(part === "core" ? "The core is ready. Next, for each worker cluster:" : "Deletions are guarded");
    if (part === "core") this.#say(`  ${next}\n`);
    return { exitCode: 0 };
  }

  #coreText(): string {
    return shellWord(valueOf(this.#options, "core") ?? "CONTEXT");
  }

  /** This very call. */
  #again(): string {
    const given = [...this.#options].flatMap(([name, values]) =>
      values.map((value) => (value === "true" ? `--${name}` : `--${name}=${shellWord(value)}`)),
    );
    return [this.#context.program, "install", this.#asked.part, ...given].join(" ");
  }

  #json(plan: readonly PlannedStep[], results: readonly Result[]): object {
    const { part, isDryRun } = this.#asked;
    return {
      part,
      isDryRun,
      steps: plan.map(({ step, planned }) => ({ step: step.title, ...planned })),
      results: results.map(({ step, said, problem }) => ({ step, isDone: problem === undefined, said, problem })),
    };
  }

  #say(text: string): void {
    if (this.#asked.output !== "json") this.#context.write(text);
  }

  #sayLine(text: string): void {
    this.#say(lines(text, this.#context.terminal.columns, "    "));
  }
}

/** With a line end each. Steps without anything to do say so: the order is the same in every run. */
function planText(plan: readonly PlannedStep[], columns: number): string {
  return plan
    .map(({ step, planned: { changes, unseen } }, index) => {
      const details = [...changes, ...unseen.map((problem) => `cannot be seen: ${problem}`)];
      if (details.length === 0) details.push("in place");
      return (
        lines(`${index + 1}. ${step.title}`, columns, "   ") +
        details.map((one) => lines(`   ${one}`, columns, "     ")).join("")
      );
    })
    .join("");
}

function failed(problem: string): CommandEnd {
  return { exitCode: 1, problem: `install: ${problem}` };
}
