/** One column of a table. */
import { type KubeObject } from "../../engine/object.ts";

export interface Column {
  readonly name: string;
  /** `string`, `integer`, `date` …, as OpenAPI names it. */
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Above 0: only with `-o wide`. */
  readonly priority: number;
  readonly cell: Cell;
}

/** What a column shows of an object; `nowMs` is the time of the epoch. */
export type Cell = (object: KubeObject, nowMs: number) => unknown;

/** A column of a built-in type. */
export function column(name: string, type: "string" | "integer", cell: Cell, priority = 0): Column {
  return { name, type, format: "", description: name, priority, cell };
}
