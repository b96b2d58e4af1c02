/**
 * Cells that fall silent (docs/accounting.md#silent-cells), as the roles show them to people, and the Leases by which
 * they are heard.
 */
import { cellLeaseName } from "../../../src/api/cell-lease.ts";
import { type KubeObject } from "../clusters/admin-client.ts";
import { type Fleet } from "./fleet.ts";
import { type PodseidonProcess } from "./process.ts";
import { waitFor } from "../clusters/wait.ts";

export type CellState = "beating" | "keep" | "silent";

/** The default of --silent-cell-after. All other times of silent cells scale with it. */
const defaultSilentAfterMs = 180_000;

/** What lasts `defaultMs` with the default of --silent-cell-after, for another value of it. */
export function scaledMs(defaultMs: number, silentAfterMs: number): number {
  return (defaultMs * silentAfterMs) / defaultSilentAfterMs;
}

/** For all roles. */
export function silenceArgs(silentAfterMs: number): readonly string[] {
  return [`--silent-cell-after=${silentAfterMs}ms`];
}

/** As a webhook or the generator sees it; undefined for a cell that has never had a Lease. */
export async function cellStateOf(observer: PodseidonProcess, cell: string): Promise<CellState | undefined> {
  const metrics = await observer.metrics();
  const found = metrics.samples("cell_state", { cell }).find(({ value }) => value === 1);
  return found?.labels["state"] as CellState | undefined;
}

/** Resolves when all these processes see the cell in that state. */
export async function waitCellState(
  observers: readonly PodseidonProcess[],
  cell: string,
  state: CellState,
  limitMs: number,
): Promise<void> {
  await waitFor(`${cell} is ${state}`, limitMs, async () => {
    const states = await Promise.all(observers.map((observer) => cellStateOf(observer, cell)));
    return states.every((one) => one === state);
  });
}

export interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string; readonly renewTime?: string };
}

/** The Lease in which a cell beats is in the case's own namespace of the core. */
export function cellLeasePath({ namespace }: Fleet, cell: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${cellLeaseName(cell)}`;
}

export function cellLease(fleet: Fleet, cell: string): Promise<Lease> {
  return fleet.core.admin.get<Lease>(cellLeasePath(fleet, cell));
}

/** Resolves when the cell has beaten `count` more times. */
export async function waitBeats(fleet: Fleet, cell: string, count: number, limitMs: number): Promise<void> {
  let seen = 0;
  let last: string | undefined;
  await waitFor(`${cell} beats ${count} times`, limitMs, async () => {
    const { renewTime } = (await cellLease(fleet, cell)).spec;
    if (renewTime !== last) seen++;
    last = renewTime;
    return seen > count;
  });
}
