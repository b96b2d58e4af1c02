/** Child processes of the benchmark, which talk with it by messages: how they are started, and asked. */
import { type ChildProcess, fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

/** It ends by its own when this process disconnects from it (`tellParent`). */
export function startChild(script: URL, args: readonly string[] = [], options: ForkOptions = {}): ChildProcess {
  return fork(fileURLToPath(script), args, { stdio: "inherit", ...options });
}

/** Its next message. */
export async function messageOf<T>(child: ChildProcess, limitMs: number): Promise<T> {
  const [message] = (await once(child, "message", { signal: AbortSignal.timeout(limitMs) })) as [T];
  return message;
}

export async function ask<T>(child: ChildProcess, question: object | string, limitMs: number): Promise<T> {
  child.send(question);
  return messageOf(child, limitMs);
}

/** In a child: tells the parent, if there is one, and ends with it. */
export function tellParent(message: object | string): void {
  process.on("disconnect", () => process.exit(0));
  process.send?.(message);
}

/** Resolves to its port. */
export async function listenOnLoopback(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
