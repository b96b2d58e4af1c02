/**
 * `podseidon dashboard`: a page on this machine that shows the fleet as it changes, over the user's kubeconfig
 * (docs/dashboard.md). It only reads.
 *
 * - model/: what is known of the fleet, and what one browser is shown of it;
 * - watches.ts: where that comes from;
 * - http/: the page, whose sources are in assets/dashboard, who may read it, its updates, its routes;
 * - dashboard.ts: all of it together.
 */
import { spawn } from "node:child_process";
import { Problem } from "../../config/reading/problem.ts";
import { StartError } from "../../lifecycle/component.ts";
import { aborted } from "../../util/linked-abort.ts";
import { secretHex } from "../../util/rng.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, invalid, namespaceOption, workerOption } from "../clusters/options.ts";
import { type Command, type CommandContext, type CommandEnd, type CommandOptions, valueOf } from "../command.ts";

/** 128 bits. */
const tokenDigits = 32;

export const dashboard: Command = {
  usage: "dashboard",
  summary: "Show the fleet as a page in the browser",
  options: [
    ...coreOptions,
    workerOption,
    namespaceOption,
    { usage: "--port <port>", description: "Of the page on 127.0.0.1; default: a free one" },
    { usage: "--open", description: "Open the page in the browser" },
  ],
  examples: ["dashboard --open", "dashboard --core my-core --worker worker-1=my-worker"],
  run(context, options) {
    const given = readPort(options);
    const [port, problem] = given instanceof Problem ? [0, given.message] : [given];
    return onClusters({ context, options, problem }, async (clusters) => {
      try {
        return await served(clusters, port, context, options);
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        return { exitCode: 1, problem: error.message };
      }
    });
  },
};

/** Serves the page until the user ends it. Rejects with a StartError when it cannot listen. */
async function served(
  clusters: OpenClusters,
  port: number,
  context: CommandContext,
  options: CommandOptions,
): Promise<CommandEnd> {
  const { clock, rng, signal, complain, write } = context;
  const { cores, choice } = clusters;
  const { namespace, leaseNamespace } = choice;
  // Late, so that other commands do not load a web server.
  const { startDashboard } = await import("./dashboard.ts");
  const { podExplainer } = await import("./explain-pod.ts");
  const [token, code] = [secretHex(tokenDigits), secretHex(tokenDigits)];
  const explain = podExplainer(clusters, context);
  const settings = { cores, namespace, leaseNamespace, port, token, code, clock, rng, explain };
  const running = await startDashboard(settings);
  write(`The dashboard is at\n\n  ${running.url}\n\nIt shows what your kubeconfig may read. Ctrl-C ends it.\n`);
  const problem = options.has("open") ? await openBrowser(running.openURL) : undefined;
  if (problem !== undefined) complain(problem);
  await aborted(signal);
  await running.close();
  return { exitCode: 0 };
}

function readPort(options: CommandOptions): number | Problem {
  const text = valueOf(options, "port") ?? "0";
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : invalid("port", text, "is no port", "0 (any free one) to 65535");
}

/** The program that opens a URL on this kind of machine, and its arguments. Pure. */
export function browserCommand(platform: NodeJS.Platform, url: string): readonly [string, readonly string[]] {
  switch (platform) {
    case "darwin":
      return ["open", [url]];
    case "win32":
      return ["explorer", [url]];
    default:
      return ["xdg-open", [url]];
  }
}

/** Resolves to what is wrong; undefined = it was started. The browser lives on when this program ends. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<string | undefined> {
  const [program, args] = browserCommand(platform, url);
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    child.once("error", (error) => resolve(`cannot run ${program}: ${error.message}`));
    child.once("spawn", () => {
      child.unref();
      resolve(undefined);
    });
  });
}
