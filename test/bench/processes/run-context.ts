/** What a case of test/e2e gets from its runner, for one run of a measurement that uses parts of it. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { type CaseContext } from "../../e2e/runner/runner.ts";
import { type Products } from "./products.ts";

/** The run has a namespace and processes of its own, which end with it. */
export async function inContext<T>(
  products: Products,
  shared: Pick<CaseContext, "namespace" | "assets" | "cluster" | "say">,
  use: (context: CaseContext) => Promise<T>,
): Promise<T> {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const context: CaseContext = {
    ...shared,
    directory: path.join(products.directory, shared.namespace),
    processes: products.processes.subset(),
    signal: new AbortController().signal,
    cleanup: (job) => void cleanups.unshift(job),
  };
  mkdirSync(context.directory, { recursive: true });
  try {
    return await use(context);
  } finally {
    for (const job of cleanups) await job();
    await context.processes.end();
  }
}
