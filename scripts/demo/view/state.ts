/** What the audience sees, as data. The renderers beside this file make text of it. */
import { type RoleState } from "../world/role-process.ts";
import { type Reviews } from "../world/review-counts.ts";

export interface CellView {
  readonly name: string;
  readonly available: number;
  readonly replicas: number;
}

export interface ServiceView {
  readonly name: string;
  readonly available: number;
  readonly replicas: number;
  /** minAvailable of the PodProtector; undefined until there is one. */
  readonly floor: number | undefined;
  /** Lowest availability since the floor was in force. */
  readonly lowest: number | undefined;
  readonly cells: readonly CellView[];
}

export interface RoleView {
  readonly name: string;
  readonly state: RoleState;
}

export interface Act {
  readonly title: string;
  /** What happens, in a sentence. */
  readonly words: string;
}

export interface Remark {
  readonly atMs: number;
  readonly text: string;
}

export interface DemoState {
  readonly elapsedMs: number;
  readonly act: Act;
  /** The clusters come up: few pods are no breach of a floor. */
  readonly isStarting: boolean;
  readonly services: readonly ServiceView[];
  readonly reviews: Reviews;
  /** Empty = Podseidon is off. */
  readonly roles: readonly RoleView[];
  /** Oldest first. */
  readonly remarks: readonly Remark[];
}

/** How many pods there are above the replicas: those of a rolling update that starts new ones first. */
export function surgeOf({ available, replicas }: Pick<CellView, "available" | "replicas">): number {
  return Math.max(0, available - replicas);
}

/** `3.4` */
export function secondsText(ms: number): string {
  return (ms / 1000).toFixed(1);
}

/** Breaks a text between words into lines of at most `width` characters. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
