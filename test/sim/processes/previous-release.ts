/**
 * The release before this one (test/support/previous-release.ts), for worlds that are upgraded while they run, with the
 * libraries of today. Bundled once, and kept in node_modules/.cache: Node loads no TypeScript from there.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { previousCommit, unpackPreviousRelease } from "../../support/previous-release.ts";
import type * as Config from "../../../src/config/index.ts";
import type * as Aggregator from "../../../src/roles/aggregator.ts";
import type * as Generator from "../../../src/roles/generator.ts";
import type * as Runtime from "../../../src/roles/runtime.ts";
import type * as Webhook from "../../../src/roles/webhook.ts";
import { type Release } from "./release.ts";

const root = path.join(import.meta.dirname, "..", "..", "..");
const cache = path.join(root, "node_modules", ".cache", "previous-release");

/** What of it is used, and below src/ where that is. */
const parts = {
  createAggregator: "roles/aggregator.ts",
  createGenerator: "roles/generator.ts",
  createWebhook: "roles/webhook.ts",
  createClients: "roles/runtime.ts",
  loadConfig: "config/index.ts",
};
const entry = Object.entries(parts)
  .map(([name, file]) => `export { ${name} } from ${JSON.stringify(`./src/${file}`)};`)
  .join("\n");

/** Its contracts towards main.ts are those of today, but for members that came later, which it does not read. */
type Parts = typeof Aggregator & typeof Generator & typeof Webhook & typeof Runtime & typeof Config;

export type PreviousRelease =
  | { readonly isThere: true; readonly release: Release }
  | { readonly isThere: false; readonly why: string };

let loading: Promise<PreviousRelease> | undefined;

/** Loads it once for each thread. Rejects when the sources are there, but cannot be bundled or loaded. */
export function previousRelease(): Promise<PreviousRelease> {
  loading ??= load();
  return loading;
}

async function load(): Promise<PreviousRelease> {
  const file = path.join(cache, `${previousCommit}-${digestOf(entry)}.mjs`);
  if (!existsSync(file)) {
    const missing = await bundle(file);
    if (missing !== undefined) return { isThere: false, why: missing };
  }
  const { createAggregator, createGenerator, createWebhook, ...shared } = (await import(
    pathToFileURL(file).href
  )) as Parts;
  const roles = { aggregator: createAggregator, generator: createGenerator, webhook: createWebhook };
  return { isThere: true, release: { ...shared, roles, unknownFlags: ["--silent-cell-after"] } };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/**
 * Returns why there is nothing to bundle. Threads and processes may do the same at the same time: the last one wins,
 * with the same text.
 */
async function bundle(outfile: string): Promise<string | undefined> {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(path.join(cache, "work-"));
  try {
    const { missing } = unpackPreviousRelease(work);
    if (missing !== undefined) return missing;
    const built = path.join(work, "bundle.mjs");
    await build({
      absWorkingDir: work,
      stdin: { contents: entry, resolveDir: work },
      outfile: built,
      bundle: true,
      packages: "external",
      platform: "node",
      target: "node26",
      format: "esm",
      keepNames: true, // logs have names of classes
      logLevel: "error",
    });
    renameSync(built, outfile);
    return undefined;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
