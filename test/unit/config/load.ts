/** Loads a configuration from values instead of the machine. */
import assert from "node:assert/strict";
import { loadConfig, type Config, type Loaded } from "../../../src/config/index.ts";

export interface World {
  readonly env?: Readonly<Record<string, string>>;
  /** Text by path; other paths do not exist. */
  readonly files?: Readonly<Record<string, string>>;
}

export function load(argv: readonly string[], { env = {}, files = {} }: World = {}, loader = loadConfig): Loaded {
  const readFile = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return text;
  };
  return loader({ argv, env, readFile });
}

/** The config, or a failure of the test with the loader's message. `loader`: of another release than this one. */
export function loadGood(argv: readonly string[], world: World = {}, loader = loadConfig): Config {
  const loaded = load(argv, world, loader);
  assert(loaded.kind === "config", loaded.kind === "error" ? loaded.message : loaded.kind);
  return loaded.config;
}

/** The loader's message; fails the test when there is none. */
export function loadBad(argv: readonly string[], world: World = {}): string {
  const loaded = load(argv, world);
  assert(loaded.kind === "error", `loaded as ${loaded.kind}`);
  return loaded.message;
}
