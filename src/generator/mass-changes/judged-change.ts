/** A change that counts, from when it is first seen until it is settled (held-changes.ts). */
import { type SourceRecord } from "../../sources/source.ts";
import { type EpochMicros, type MonotonicMs } from "../../util/clock.ts";
import { type Kept } from "../sources/kept.ts";
import { type Change, type ChangeRequest, type Subject } from "./change.ts";

export interface JudgedChange {
  readonly protectorUID: string;
  /** What it counts under; removed when the change is undone. */
  readonly windowID: string;
  /** In place of that: workloads, which others may count under the same IDs. */
  readonly fallen: readonly string[];
  readonly change: Change;
  /** False: only the word of the owner is asked, since it counts towards no mass change. */
  readonly isCounted: boolean;
  /** Its namespace is: of one that counts nothing but the word of the owner is left. */
  readonly isExempt: boolean;
  readonly kept: Kept | undefined;
  readonly at: EpochMicros;
  /** What an approval before this term is compared with. */
  readonly approvableAt: EpochMicros;
  readonly readyAtMs: MonotonicMs;
  readonly source: SourceRecord;
  /** Its UID: Events in it are refused. */
  readonly terminatingNamespace: string | undefined;
  state: "pending" | "held" | "approved" | "passed";
  /** Of one that is held: what is latched, which is the cause of the change or that of all together. */
  heldBy: string;
}

export type HeldSubject = Subject & Pick<ChangeRequest, "kept">;
export type AskedChange = Change & Pick<JudgedChange, "isCounted">;

/** What is decided about a change. */
export type Verdict =
  /** `cause`: of a change that counts; "" for any other. `floorBefore`: the annotation for the patch that lowers it. */
  | { readonly kind: "pass"; readonly cause: string; readonly floorBefore: string | undefined }
  | { readonly kind: "later"; readonly waitMs: number }
  | { readonly kind: "held" };

export function pass(cause = "", floorBefore?: string): Verdict {
  return { kind: "pass", cause, floorBefore };
}
