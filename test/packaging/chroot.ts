/** Runs the assembled image root the way a container engine would, for `make e2e`: see runInChroot. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { ImageRoot } from "../../scripts/image/image-root.ts";

export interface ChrootRunOptions {
  readonly root: ImageRoot;
  /** Arguments of the executable. */
  readonly args: readonly string[];
  /** Added to the environment that the Dockerfile sets. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * For a role, which runs until it is stopped: the URL of its /readyz. Once it answers 200, SIGTERM is sent. The
   * process shares the network of the host.
   */
  readonly readyUrl?: string;
  /** Limit of the whole run in milliseconds; the process is killed when it passes. */
  readonly timeoutMs: number;
}

export interface ChrootRun {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  /** Whether readyUrl answered 200. */
  readonly becameReady: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** More output than this is cut: 1 MiB holds any log of a start-up, and a looping process must not fill the memory. */
const outputCharsMax = 1 << 20;
const pollMs = 100;

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    if (text.length < outputCharsMax) text += chunk.toString();
  });
  return () => text;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false; // not listening yet, or too slow: asked again until the run's own limit
  }
}

/**
 * Signals process 1 of the new namespace, as a container engine would. It is the only child of `unshare`, which ends
 * with it; the other way round it would not, since a change of user clears the parent-death signal.
 */
function signalInside(unshare: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (unshare.pid === undefined || unshare.exitCode !== null || unshare.signalCode !== null) return;
  const child = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, "utf8").trim();
  if (child === "") unshare.kill("SIGKILL");
  else process.kill(Number(child), signal);
}

/**
 * Runs the executable of an assembled image root (scripts/image/image-root.ts) in a chroot, as the Dockerfile's user,
 * as process 1 of a PID namespace with its own /proc. Needs Linux, root, `unshare` and `chroot`. Throws when the
 * process cannot be started at all.
 */
export async function runInChroot(options: ChrootRunOptions): Promise<ChrootRun> {
  const { folder, facts } = options.root;
  const namespaces = ["--fork", "--pid", "--mount", `--mount-proc=${folder}/proc`];
  const chroot = ["chroot", `--userspec=${facts.user.uid}:${facts.user.gid}`, folder, facts.executablePath];
  const child = spawn("unshare", [...namespaces, ...chroot, ...options.args], {
    // HOME is what container engines set for a user without an entry in /etc/passwd; PATH is for the host's chroot.
    env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/", ...facts.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return followRun(child, options, (signal) => signalInside(child, signal));
}

/**
 * Follows what was started for a container to its end, as ChrootRunOptions says. `signalContainer` sends a signal to
 * the container's process, and none where that has ended.
 */
export async function followRun(
  child: ChildProcessByStdio<null, Readable, Readable>,
  { readyUrl, timeoutMs }: Pick<ChrootRunOptions, "readyUrl" | "timeoutMs">,
  signalContainer: (signal: "SIGTERM" | "SIGKILL") => void,
): Promise<ChrootRun> {
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  // Whatever ends this process ends the one inside, which would outlive it.
  const killInside = (): void => signalContainer("SIGKILL");
  process.once("exit", killInside);
  const timeout = setTimeout(killInside, timeoutMs);
  const exit = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code));
  });
  // Waited for below; this only keeps an early failure from counting as unhandled while readiness is polled.
  exit.catch(() => undefined);
  let becameReady = false;
  if (readyUrl !== undefined) {
    while (!becameReady && child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      await delay(pollMs);
      becameReady = await answers(readyUrl);
    }
    if (becameReady) signalContainer("SIGTERM");
  }
  try {
    const code = await exit;
    return { code, becameReady, stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timeout);
    process.off("exit", killInside);
  }
}
