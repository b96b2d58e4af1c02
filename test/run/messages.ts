/** What a process that runs test files tells the one that started it. */
export type Message =
  /** A test, or a whole file if it has no name. */
  | { readonly type: "started" | "passed"; readonly file: string; readonly name: string }
  | { readonly type: "skipped"; readonly file: string; readonly name: string; readonly why: string }
  /** A file that fails as such has no name. What fails only because of tests inside it says nothing. */
  | { readonly type: "failed"; readonly file: string; readonly name: string; readonly why: string }
  /** All files have been run, and the process is about to end. */
  | { readonly type: "done"; readonly cpuSeconds: number };

/** Tells the process that started this one. */
export function tell(message: Message): void {
  process.send?.(message);
}
