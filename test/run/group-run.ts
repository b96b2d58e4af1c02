import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { type Group } from "./groups.ts";
import { type Message } from "./messages.ts";

/** To notice a limit, and to end, on a busy machine. */
const graceMs = 30_000;

/** For the last messages of a process in which a file may have left something open. */
const stuckMs = 1_000;

export interface Failure {
  readonly file: string;
  /** Of the test; empty if the file or its process fails as such. */
  readonly name: string;
  readonly why: string;
}

/** One process that runs the files of a group. */
export class GroupRun {
  passed = 0;
  seconds = 0;
  /** Of the process itself, without those that it starts. */
  cpuSeconds = 0;
  readonly failures: Failure[] = [];
  readonly skipped: string[] = [];
  #isDone = false;
  #last: { readonly file: string; readonly name: string };
  readonly #child: ChildProcess;
  readonly #limitMs: number;
  readonly #onFailure: (failure: Failure) => void;

  /** `limitMs`: for one file. */
  constructor({ name, files }: Group, limitMs: number, onFailure: (failure: Failure) => void) {
    this.#limitMs = limitMs;
    this.#onFailure = onFailure;
    this.#last = { file: name, name: "" };
    const reporter = path.join(import.meta.dirname, "reporter.ts");
    this.#child = fork(path.join(import.meta.dirname, "process.ts"), [String(limitMs), ...files], {
      execArgv: [`--test-reporter=${reporter}`],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      // Below `node --test` it would have a child report in another way.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async ended(): Promise<void> {
    const startedMs = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const expectNext = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => this.kill(), ms);
    };
    this.#child.on("message", (message: Message) => {
      this.#heard(message);
      const isStuck = this.#isDone && this.failures.length > 0;
      expectNext(isStuck ? stuckMs : this.#isDone ? graceMs : this.#limitMs + graceMs);
    });
    expectNext(this.#limitMs + graceMs);
    const [code, signal] = (await once(this.#child, "close")) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    this.seconds = (performance.now() - startedMs) / 1000;
    if (this.#isDone && (code === 0 || this.failures.length > 0)) return;
    const how = signal === null ? `exit code ${code}` : signal;
    this.#fail({ ...this.#last, why: `The process ended with ${how}${this.#isDone ? " after its last test" : ""}` });
  }

  #heard(message: Message): void {
    switch (message.type) {
      case "started":
        this.#last = message;
        break;
      case "passed":
        this.passed += 1;
        break;
      case "skipped":
        this.skipped.push(`${message.file}: ${message.name}: ${message.why}`);
        break;
      case "failed":
        this.#fail({ file: message.file, name: message.name, why: message.why });
        break;
      case "done":
        this.#isDone = true;
        this.cpuSeconds = message.cpuSeconds;
        break;
    }
  }

  #fail(failure: Failure): void {
    this.failures.push(failure);
    this.#onFailure(failure);
  }
}
