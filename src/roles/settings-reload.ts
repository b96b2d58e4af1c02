/**
 * Reads the settings again at SIGHUP (`systemctl reload`), and applies what can change while roles run: the verbosity
 * of the log. Everything else needs a restart, and is named. A mistake changes nothing.
 */
import { type Effective, type Loaded } from "../config/index.ts";
import { type Component } from "../lifecycle/component.ts";
import { type Logger } from "../util/logger.ts";

/** The flag that is applied. Files of certificates and tokens are watched where they are used. */
const reloadable = "klog-v";

export interface ReloadOptions {
  /** Reads all sources again. */
  readonly load: () => Loaded;
  /** The settings that the process has started with. */
  readonly effective: Effective;
  readonly applyVerbosity: (verbosity: number) => void;
  readonly logger: Logger;
  /** Calls the listener with each hang-up, until the function that is returned is called. */
  readonly onHangup: (listener: () => void) => () => void;
}

export function createSettingsReload({ load, effective, applyVerbosity, logger, onHangup }: ReloadOptions): Component {
  let inUse = verbosityOf(effective);
  let stopListening = (): void => {};
  const reload = (): void => {
    const loaded = load();
    if (loaded.kind !== "config") {
      const problems = loaded.kind === "error" ? loaded.message.split("\n") : [`loaded as ${loaded.kind}`];
      logger.error("Settings not reloaded, keeping the old ones", { problems });
      return;
    }
    const verbosity = verbosityOf(loaded.effective);
    const needsRestart = changedNames(effective, loaded.effective).filter((name) => name !== reloadable);
    if (verbosity !== inUse) applyVerbosity(verbosity);
    logger.info("Settings reloaded", { [reloadable]: verbosity, ...(needsRestart.length > 0 && { needsRestart }) });
    inUse = verbosity;
  };
  return {
    name: "settings-reload",
    async start() {
      stopListening = onHangup(reload);
    },
    async stop() {
      stopListening();
    },
  };
}

function verbosityOf(effective: Effective): number {
  return Number(effective.get(reloadable)?.value);
}

function changedNames(old: Effective, next: Effective): readonly string[] {
  const textOf = (value: unknown): string => JSON.stringify(value);
  return [...next].filter(([name, { value }]) => textOf(value) !== textOf(old.get(name)?.value)).map(([name]) => name);
}
