/** `podseidon status`: where every PodProtector of the cores stands, what is wrong first. */
import { formatWholeSeconds } from "../../api/micro-time.ts";
import { sleep } from "../../util/clock.ts";
import { coreOptions, namespaceOption, outputOption, type OutputFormat } from "../clusters/options.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { type Command, type CommandContext, type CommandEnd, type Terminal } from "../command.ts";
import { type CoreLook, looksAt } from "../fleet/look.ts";
import { jsonText } from "../text/format.ts";
import { statusJson } from "./json.ts";
import { isAnythingWrong, statusText } from "./text.ts";

/** Between two looks of --watch, in milliseconds: as `watch` has it. */
const watchMs = 2_000;
/** A look at a large fleet takes long. So much longer is the pause, so that its core is not kept busy. */
const pauseFactor = 5;

export const status: Command = {
  usage: "status",
  summary: "Show the PodProtectors, what is wrong first",
  options: [
    ...coreOptions,
    namespaceOption,
    { usage: "--all", description: "Show also those that are well in a large fleet" },
    { usage: "-w, --watch", description: "Look again and again, until Ctrl-C" },
    outputOption,
  ],
  examples: ["status", "status -n shop --watch", "status --core east=ctx-1 --core west=ctx-2"],

  run(context, options) {
    const shown = { showsAll: options.has("all"), isWatch: options.has("watch") };
    return onClusters({ context, options }, (clusters, output) => looked(context, clusters, { ...shown, output }));
  },
};

interface ShownAs {
  readonly output: OutputFormat;
  readonly showsAll: boolean;
  readonly isWatch: boolean;
}

async function looked(context: CommandContext, clusters: OpenClusters, shown: ShownAs): Promise<CommandEnd> {
  const { clock, signal } = context;
  for (;;) {
    const startedAt = clock.monotonicMs();
    const looks = await looksAt(clusters.cores, { ...context, ...clusters.choice });
    if (signal.aborted) return { exitCode: 0 };
    context.write(textOf(looks, context, clusters, shown));
    if (!shown.isWatch) return endOf(looks);
    const tookMs = clock.monotonicMs() - startedAt;
    await sleep(clock, Math.max(watchMs, tookMs * pauseFactor), signal);
    if (signal.aborted) return { exitCode: 0 };
  }
}

function endOf(looks: readonly CoreLook[]): CommandEnd {
  const nothing = looks.every(({ protectors }) => protectors === undefined);
  if (nothing) return { exitCode: 1, problem: looks.map(({ unread }) => unread[0] ?? "").join("; ") };
  return { exitCode: looks.some(isAnythingWrong) ? 1 : 0 };
}

function textOf(
  looks: readonly CoreLook[],
  context: CommandContext,
  { choice }: OpenClusters,
  { output, showsAll, isWatch }: ShownAs,
): string {
  if (output === "json") {
    const json = statusJson(looks);
    return jsonText(json, isWatch);
  }
  const { terminal, program, clock } = context;
  const text = statusText(looks, { namespace: choice.namespace, showsAll, program, terminal });
  if (!isWatch) return text;
  const time = `${formatWholeSeconds(clock.epochMicros())}\n`;
  // The top of the screen, and nothing below what is printed.
  return terminal.isInteractive ? `\u001b[H\u001b[2J${onScreen(time + text, terminal)}` : `${time}${text}\n`;
}

/** What is wrong stands at the top, so it is the rest that is left out. The cursor takes the last line. */
function onScreen(text: string, { rows }: Terminal): string {
  const lines = text.split("\n").slice(0, -1);
  if (rows === undefined || lines.length < rows) return text;
  const shown = lines.slice(0, Math.max(1, rows - 2));
  return `${shown.join("\n")}\n(${lines.length - shown.length} more lines)\n`;
}
