/**
 * Builds the image by a container engine and runs it, for `make e2e`: buildah, which needs no daemon, with its
 * isolation by chroot, which needs no namespaces of its own. The network is the host's.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type ImageFacts, type ImageRoot } from "../../scripts/image/image-root.ts";
import { type ChrootRun, type ChrootRunOptions, followRun } from "./chroot.ts";

/** An image of 120 MB is copied three times; the limit only ends a step that hangs. */
const stepTimeoutMs = 300_000;

/** What `buildah inspect` says of an image. */
interface Inspection {
  readonly OCIv1: {
    readonly architecture: string;
    readonly config: {
      readonly User: string;
      readonly ExposedPorts: Readonly<Record<string, object>>;
      readonly Env: readonly string[];
      readonly Entrypoint: readonly string[];
    };
  };
}

/** What the engine has read in the Dockerfile. */
export interface EngineImage {
  readonly architecture: string;
  readonly user: string;
  readonly ports: readonly number[];
  readonly env: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
}

/** The processes that a process has started; none where it has ended. */
function childrenOf(pid: number): readonly number[] {
  try {
    // Of all threads: a program in Go starts processes from any.
    const threads = readdirSync(`/proc/${pid}/task`);
    const lines = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"));
    return lines.flatMap((line) =>
      line
        .split(" ")
        .map(Number)
        .filter((child) => child > 0),
    );
  } catch {
    return [];
  }
}

/** The process at the end of a chain of helpers, each of which starts the next; undefined = it has started none. */
function innermost(pid: number): number | undefined {
  const [child] = childrenOf(pid);
  return child === undefined ? undefined : (innermost(child) ?? child);
}

export class Engine {
  readonly #storage: readonly string[];
  readonly #folder: string;

  /** `folder` takes images and containers; buildah leaves nothing anywhere else. */
  constructor(folder: string) {
    this.#folder = folder;
    const below = (name: string): string => path.join(folder, name);
    this.#storage = ["--root", below("storage"), "--runroot", below("run"), "--storage-driver", "vfs"];
  }

  /** Why the engine cannot be used here; undefined when it can. */
  static obstacle(): string | undefined {
    if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
    return spawnSync("buildah", ["--version"]).status === 0 ? undefined : "needs buildah, which is not installed";
  }

  #buildah(...args: readonly string[]): string {
    const options = { encoding: "utf8", timeout: stepTimeoutMs, env: this.#env() } as const;
    const { status, stdout, stderr, error } = spawnSync("buildah", [...this.#storage, ...args], options);
    if (status !== 0) throw new Error(`buildah ${args.join(" ")}: ${error?.message ?? stderr.trim()}`);
    return stdout.trim();
  }

  #env(): NodeJS.ProcessEnv {
    return { ...process.env, TMPDIR: this.#folder };
  }

  /**
   * Builds the image from a folder with the Dockerfile and what it copies. Returns what the engine has read, and the
   * root file system of a container, into which files can be put in place of volumes.
   */
  build(context: string, facts: ImageFacts): { readonly image: EngineImage; readonly root: ImageRoot } {
    mkdirSync(this.#folder, { recursive: true });
    this.#buildah("build", "--isolation", "chroot", "--tag", "podseidon", context);
    const inspected = JSON.parse(this.#buildah("inspect", "--type", "image", "podseidon")) as Inspection;
    const { architecture, config } = inspected.OCIv1;
    this.#buildah("from", "--name", "podseidon", "localhost/podseidon");
    const image = {
      architecture,
      user: config.User,
      ports: Object.keys(config.ExposedPorts).map((port) => Number.parseInt(port, 10)),
      env: Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s, 2) as [string, string])),
      entrypoint: config.Entrypoint,
    };
    return { image, root: { folder: this.#buildah("mount", "podseidon"), facts } };
  }

  /** Runs the executable in the container that `build` has made. Throws when it cannot be started at all. */
  async run({ root, args, env = {}, ...limits }: ChrootRunOptions): Promise<ChrootRun> {
    const settings = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const run = ["run", "--isolation", "chroot", ...settings, "podseidon", "--", root.facts.executablePath, ...args];
    const child = spawn("buildah", [...this.#storage, ...run], {
      env: this.#env(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    // buildah would kill the container's process by SIGKILL, whatever signal it gets itself.
    return followRun(child, limits, (signal) => {
      const inside = child.pid === undefined ? undefined : innermost(child.pid);
      if (inside === undefined) child.kill("SIGKILL");
      else process.kill(inside, signal);
    });
  }

  /** Lets go of the mounted root file system, so that the folder can be removed. */
  close(): void {
    this.#buildah("rm", "--all");
  }
}
