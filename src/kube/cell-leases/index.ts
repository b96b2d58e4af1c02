/**
 * The heartbeats of the cells of one core, as an observer sees them: the loop of LISTs (observer.ts) around the rules
 * of accounting/silence/ (docs/accounting.md#silent-cells). For the webhook and for the generator.
 */
export { CellLeases } from "./observer.ts";
