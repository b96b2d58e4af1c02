/**
 * Finds or builds a program of another project that a gate runs, such as promtool and helm. It is taken from the first
 * of these that has it: the file that an environment variable names, a cache of the user, `go build` into the cache of
 * the version that the module's go.mod pins.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { buildGoProgram, cacheRoot, goProblem, type GoProgram, isExecutable } from "./go-program.ts";

export interface GoTool extends GoProgram {
  /** Environment variable that names a program to take instead. */
  readonly variable: string;
  /** In messages: what that program has to be, such as "a promtool of Prometheus 3". */
  readonly kind: string;
}

export class GoToolError extends Error {
  override readonly name = "GoToolError";
}

/** Resolves to its path. `report` receives lines about progress. Throws a GoToolError that says what to do. */
export async function resolveGoTool(
  tool: GoTool,
  report: (line: string) => void,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const { name, variable } = tool;
  const given = environment[variable];
  if (given !== undefined && given !== "") {
    if (isExecutable(given)) return path.resolve(given);
    throw new GoToolError(`${variable} names ${given}, which cannot be executed`);
  }
  const cache = goToolCacheDirectory(tool, environment);
  const cached = path.join(cache, name);
  if (isExecutable(cached)) return cached;
  const problem = goProblem(environment);
  if (problem !== undefined) {
    throw new GoToolError(
      `cannot find ${name}, and ${problem}. Install Go 1.26 or newer, or set ${variable} to ${tool.kind}`,
    );
  }
  report(`${tool.title}: building it with go build into ${cache}`);
  const built = await buildGoProgram(tool, cache, report, environment);
  if ("failure" in built) throw new GoToolError(built.failure);
  return built.file;
}

/** The hash covers everything that decides what is built, so that a cache is never stale. */
export function goToolCacheDirectory({ name, flags, moduleDirectory }: GoTool, environment: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(JSON.stringify([process.platform, process.arch, flags]));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(moduleDirectory, file)));
  return path.join(cacheRoot(environment), name, hash.digest("hex").slice(0, 12));
}
