/**
 * The program `podseidon`. With a command (`podseidon help`) it runs that. Otherwise it reads the settings, puts the
 * selected roles together and runs them as one process.
 *
 * Exit codes: 0 = done or stopped as asked; 1 = could not start or stop; 2 = invalid usage or settings; 70 = a bug
 * (EX_SOFTWARE); 130 and 143 = a second signal.
 */
import { fstatSync } from "node:fs";
import path from "node:path";
import packageJson from "../package.json" with { type: "json" };
import {
  changedSettings,
  ignoredSettings,
  loadConfig,
  type Config,
  type Effective,
  type Loaded,
  type Role,
} from "./config/index.ts";
import { roleHelpText } from "./config/pages/help.ts";
import { StartError, type Component } from "./lifecycle/component.ts";
import { runProcess } from "./lifecycle/process.ts";
import type * as observability from "./observability/index.ts";
// `import type` leaves nothing behind; an inline `type` would still load the module, and the Kubernetes client with it.
import type { CommandSurroundings } from "./commands/command.ts";
import type { Runtime } from "./roles/runtime.ts";
import { assertNever } from "./util/assert.ts";
import { type Logger, silentLogger } from "./util/logger.ts";
import { silentMetrics } from "./util/metrics.ts";
import { createSystemRng } from "./util/rng.ts";
import { readRegularFile } from "./util/regular-file.ts";
import { createSystemClock } from "./util/system-clock.ts";

/** Set by the build; absent when the sources are run directly. */
declare const __PODSEIDON_COMMIT__: string | undefined;
const commit = typeof __PODSEIDON_COMMIT__ === "undefined" ? "dev" : __PODSEIDON_COMMIT__;
const productVersion = `${packageJson.version} (${commit})`;
const version = `podseidon ${packageJson.version} (commit ${commit}, Node ${process.version})`;

/** Probes and a few scrapers need far fewer. Nobody keeps one, so that there is always room for the next probe. */
const serviceConnections = { connectionsMax: 100, isReusable: false };
/** Of a terminal whose width is not known, and of a pipe. */
const columnsDefault = 80;
/** Scrapes and probes take milliseconds. */
const serviceGraceMs = 1000;

/** The line that a log has last when a role does not start. */
const cannotStart = "Cannot start";

const clock = createSystemClock();

async function main(): Promise<void> {
  const stop = new AbortController();
  surviveLostOutput(stop);
  const crash = installCrashHandler();
  const argv = process.argv.slice(2);
  const program = programName();
  if (argv[0]?.startsWith("-") === false) return runCommand(argv, program, stop);
  // As a plug-in of kubectl it runs no roles.
  if (program !== "podseidon") return runCommand([argv[0] === "--version" ? "version" : "help"], program, stop);
  const loaded = load();
  switch (loaded.kind) {
    case "help":
      if (loaded.roles.size === 0 && !loaded.isWhole) return runCommand(["help"], program, stop);
      process.stdout.write(roleHelpText(loaded.roles, loaded.isWhole));
      return;
    case "version":
      process.stdout.write(`${version}\n`);
      return;
    case "printConfig":
      process.stdout.write(loaded.text);
      return;
    case "error":
      for (const line of loaded.message.split("\n")) complain(line);
      process.exitCode = 2;
      return;
    case "config":
      process.exit(await run(loaded.config, loaded.effective, crash));
      break;
    default:
      assertNever(loaded);
  }
}

/** How people have called the program: `kubectl podseidon` runs an executable of the name kubectl-podseidon. */
function programName(): string {
  const names = [process.argv0, process.argv[1] ?? ""].map((file) => path.basename(file));
  return names.some((name) => /^kubectl-podseidon\b/.test(name)) ? "kubectl podseidon" : "podseidon";
}

/** Runs an operator command and sets the exit code. */
async function runCommand(argv: readonly string[], program: string, stop: AbortController): Promise<void> {
  // Once: the second signal ends a command that does not.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  const rng = createSystemRng();
  const questions: CommandSurroundings = {
    write: (text) => void process.stdout.write(text),
    complain,
    program,
    version: `${version}\n`,
    environment: process.env,
    readFile: readRegularFile,
    clock,
    rng,
    signal: stop.signal,
    terminal: {
      get columns() {
        return process.stdout.columns ?? columnsDefault;
      },
      get rows() {
        return process.stdout.rows;
      },
      isColoured: process.stdout.isTTY && process.stdout.hasColors(),
      isInteractive: process.stdout.isTTY,
    },
    async connect(config, name) {
      const { createKubeClient } = await import("./kube/transport/index.ts");
      const deps = { clock, rng, logger: silentLogger, metrics: silentMetrics, environment: process.env };
      return createKubeClient(config, deps, name);
    },
  };
  const commands = await import("./commands/index.ts");
  const { exitCode, problem } = await commands.runCommand(argv, questions);
  if (problem !== undefined) complain(problem);
  if (exitCode !== 0) process.exitCode = exitCode;
}

/** Runs the selected roles; resolves to the exit code. */
async function run(config: Config, effective: Effective, crash: CrashHandler): Promise<number> {
  // Loaded late, so that --help, --version and invalid flags are answered at once.
  const observability = await import("./observability/index.ts");
  let { verbosity } = config.log;
  const isJournaled = observability.isJournal(process.env["JOURNAL_STREAM"], fstatSync(process.stderr.fd));
  const logger = await observability.createLogger({
    verbosity: () => verbosity,
    format: process.stderr.isTTY ? (process.stderr.hasColors() ? "pretty-colour" : "pretty") : "json",
    clock,
    write: (line) => process.stderr.write(isJournaled ? observability.withPriority(line) : line),
  });
  crash.logger = logger;
  logger.info("Starting", { version, roles: [...config.roles], settings: changedSettings(effective) });
  const ignored = ignoredSettings(effective, config.roles);
  if (Object.keys(ignored).length > 0) logger.warn("Flags of upstream are set that have no effect here", { ignored });
  try {
    const { components, health } = await compose(config, logger, observability);
    const { createSettingsReload } = await import("./roles/settings-reload.ts");
    components.push(
      createSettingsReload({ load, effective, logger, onHangup, applyVerbosity: (next) => (verbosity = next) }),
    );
    const onSignal = (listener: (signal: "SIGTERM" | "SIGINT") => void): void => {
      process.on("SIGTERM", listener);
      process.on("SIGINT", listener);
    };
    const drainDelayMs = config.roles.has("webhook") ? config.webhook.drainDelayMs : 0;
    const end = await runProcess({ components, health, logger, clock, onSignal, drainDelayMs });
    if (end.problem !== undefined) logger.error(cannotStart, { reason: end.problem });
    return end.exitCode;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    logger.error(cannotStart, { reason: error.message });
    return 1;
  }
}

const load = (): Loaded => loadConfig({ argv: process.argv.slice(2), env: process.env, readFile: readRegularFile });

/** At a terminal a hang-up ends the process, as it does everywhere else. */
function onHangup(listener: () => void): () => void {
  if (process.stderr.isTTY) return () => {};
  process.on("SIGHUP", listener);
  return () => void process.off("SIGHUP", listener);
}

type Observability = typeof observability;

/** The components of this process in the order in which they start: each one after those that it depends on. */
async function compose(config: Config, logger: Logger, observability: Observability) {
  const { createHealthApp, createMetricsApp, createServer } = await import("./server/index.ts");
  const { byNamespace, byUser, sampleFrequencyMs } = config.metrics;
  const metrics = observability.createMetrics({ byNamespace, byUser, ofProcess: true });
  observability.showBuildInfo(metrics, { version: packageJson.version, commit, nodeVersion: process.version });
  const health = observability.createHealth({ logger, metrics });
  const liveness = observability.createHealth({ logger, metrics });
  liveness.register("ping", () => undefined);
  const { createClients } = await import("./roles/runtime.ts");
  const { createProfiles } = await import("./roles/profiles.ts");
  const certificates = new observability.CertificateExpiry({ clock, logger, metrics });
  const shared = { config, clock, rng: createSystemRng(), logger, metrics, certificates };
  const clients = createClients({ ...shared, environment: process.env });
  const limits = { ...serviceConnections, graceMs: serviceGraceMs, clock, logger, certificates };
  const healthApp = createHealthApp(health, liveness);
  const metricsApp = createMetricsApp(metrics);
  const components: Component[] = [
    clients,
    observability.createHeartbeat({ clock, metrics, sampleFrequencyMs }),
    createServer({ name: "healthz", config: config.healthz, fetch: healthApp.fetch, ...limits }),
    createServer({ name: "prometheus-http", config: config.prometheusHTTP, fetch: metricsApp.fetch, ...limits }),
    createProfiles(config.pprof, { clock, createServer: (options) => createServer({ ...options, ...limits }) }),
  ];
  for (const role of config.roles)
    components.push(
      ...(await createRole(role, { ...shared, productVersion, health, clients, createServer, isWarmedUp: true })),
    );
  // The last to start: by then the certificates are in use, and who is to be told is there.
  components.push(certificates);
  return { components, health };
}

async function createRole(role: Role, runtime: Runtime): Promise<Component[]> {
  switch (role) {
    case "generator":
      return (await import("./roles/generator.ts")).createGenerator(runtime);
    case "aggregator":
      return (await import("./roles/aggregator.ts")).createAggregator(runtime);
    case "webhook":
      return (await import("./roles/webhook.ts")).createWebhook(runtime);
    case "update-trigger":
      // In a process with an aggregator, the aggregator runs the trigger under its own Lease.
      if (runtime.config.updateTrigger.runBy !== "update-trigger") return [];
      return (await import("./roles/update-trigger.ts")).createUpdateTrigger(runtime);
    default:
      return assertNever(role);
  }
}

interface CrashHandler {
  /** Set as soon as it exists. */
  logger: Logger | undefined;
}

/** A bug ends the process with a message; Kubernetes restarts it. */
function installCrashHandler(): CrashHandler {
  const handler: CrashHandler = { logger: undefined };
  const crash = (error: unknown): void => {
    if (handler.logger === undefined)
      complain(`crashed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    else handler.logger.error("Crashed", { err: error });
    process.exit(70);
  };
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  return handler;
}

/**
 * A log that cannot be written (a closed pipe, a full disk) must not stop a webhook, and the failure cannot be reported
 * anywhere. Only commands and --help write to stdout: `podseidon --help | head` closes it, which is not an error; every
 * other failure is. A command that would go on printing stops.
 */
function surviveLostOutput(stop: AbortController): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    stop.abort();
    if (error.code === "EPIPE") return;
    complain(`cannot write to stdout: ${error.message}`);
    process.exitCode = 1;
  });
}

/** One line on stderr, where there is no logger: of commands, and of settings, whose log format is not known yet. */
function complain(message: string): void {
  process.stderr.write(`podseidon: ${message.replace(/\s*[\r\n]+\s*/g, " ")}\n`);
}

await main();
