/**
 * `podseidon dashboard`: a page on this machine that shows the fleet as it changes, over the user's kubeconfig
 * (docs/dashboard.md). It only reads.
 *
 * - model/: what is known of the fleet, and what one browser is shown of it;
 * - watches.ts: where that comes from;
 * - http/: who may read the page, its updates, its routes;
 * - page/: the page itself, and page-files.ts, which joins it;
 * - dashboard.ts: all of it together.
 */
import { Problem } from "../../config/reading/problem.ts";
import { StartError } from "../../lifecycle/component.ts";
import { secretHex } from "../../util/rng.ts";
import { openClusters } from "../clusters/open.ts";
import { coreOptions, invalid, namespaceOption, workerOption } from "../clusters/options.ts";
import { type Command, type CommandOptions, isGiven, valueOf, wrongUsage } from "../command.ts";
import { openBrowser } from "./open-browser.ts";

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
  async run(context, options) {
    const port = readPort(options);
    if (port instanceof Problem) return wrongUsage(port.message);
    const clusters = await openClusters(options, context);
    if (clusters instanceof Problem) return wrongUsage(clusters.message);
    const { namespace, leaseNamespace } = clusters.choice;
    const { clock, rng, signal, complain, write } = context;
    try {
      // Late, so that other commands do not load a web server.
      const { startDashboard } = await import("./dashboard.ts");
      const { podExplainer } = await import("./explain-pod.ts");
      const [token, code] = [secretHex(tokenDigits), secretHex(tokenDigits)];
      const { cores } = clusters;
      const explain = podExplainer(clusters, context);
      const running = await startDashboard({
        cores,
        namespace,
        leaseNamespace,
        port,
        token,
        code,
        clock,
        rng,
        explain,
      });
      write(`The dashboard is at\n\n  ${running.url}\n\nIt shows what your kubeconfig may read. Ctrl-C ends it.\n`);
      const problem = isGiven(options, "open") ? await openBrowser(running.openURL) : undefined;
      if (problem !== undefined) complain(problem);
      await whenAborted(signal);
      await running.close();
      return { exitCode: 0 };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      return { exitCode: 1, problem: error.message };
    } finally {
      await clusters.close();
    }
  },
};

function readPort(options: CommandOptions): number | Problem {
  const text = valueOf(options, "port") ?? "0";
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : invalid("port", text, "is no port", "0 (any free one) to 65535");
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
