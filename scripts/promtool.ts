/**
 * Finds or builds promtool, the program of Prometheus that checks and tests rules, for `make alerts`. It is taken from
 * the first of these that has it: the file that PROMTOOL names, a cache of the user, `go build` into the cache of the
 * version that test/monitoring/promtool/go.mod pins.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { buildGoProgram, cacheRoot, goProblem, isExecutable } from "./go-program.ts";

const moduleDirectory = path.join(import.meta.dirname, "../test/monitoring/promtool");

/**
 * Without the clients of all clouds, by which Prometheus finds what to scrape: they are most of its packages, and rules
 * need none.
 */
const flags = ["-trimpath", "-tags=netgo,remove_all_sd", "-ldflags=-s -w"];

export class PromtoolError extends Error {
  override readonly name = "PromtoolError";
}

/** Resolves to its path. `report` receives lines about progress. Throws a PromtoolError that says what to do. */
export async function resolvePromtool(
  report: (line: string) => void,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const given = environment["PROMTOOL"];
  if (given !== undefined && given !== "") {
    if (isExecutable(given)) return path.resolve(given);
    throw new PromtoolError(`PROMTOOL names ${given}, which cannot be executed`);
  }
  const cache = promtoolCacheDirectory(environment);
  const cached = path.join(cache, "promtool");
  if (isExecutable(cached)) return cached;
  const problem = goProblem(environment);
  if (problem !== undefined) {
    throw new PromtoolError(
      `cannot find promtool, and ${problem}. Install Go 1.26 or newer, or set PROMTOOL to a promtool of Prometheus 3`,
    );
  }
  report(`promtool: building it with go build into ${cache}`);
  const goPackage = "github.com/prometheus/prometheus/cmd/promtool";
  const program = { title: "promtool", name: "promtool", goPackage, moduleDirectory, flags };
  const built = await buildGoProgram(program, cache, report, environment);
  if ("failure" in built) throw new PromtoolError(built.failure);
  return built.file;
}

/** The hash covers everything that decides what is built, so that a cache is never stale. */
export function promtoolCacheDirectory(environment: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(JSON.stringify([process.platform, process.arch, flags]));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(moduleDirectory, file)));
  return path.join(cacheRoot(environment), "promtool", hash.digest("hex").slice(0, 12));
}
