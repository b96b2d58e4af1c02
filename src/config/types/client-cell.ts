/** An item of --webhook-client-cells: `NAME=CELL`. */
import { certificateNameProblem, cellIDProblem } from "./address.ts";

export interface ClientCell {
  /** A name of a client's certificate. */
  readonly name: string;
  /** A cell that it may speak for. */
  readonly cell: string;
}

/** Names of certificates may hold "=", cells cannot. Without "=" the name is empty. */
export function readClientCell(item: string): ClientCell {
  const equals = item.lastIndexOf("=");
  return { name: item.slice(0, Math.max(equals, 0)), cell: item.slice(equals + 1) };
}

/** What is wrong, in words that follow the quoted item. */
export function clientCellProblem(item: string): string | undefined {
  const { name, cell } = readClientCell(item);
  if (name === "") return "is not NAME=CELL";
  if (certificateNameProblem(name) !== undefined) return "begins with what is not a certificate name";
  return cellIDProblem(cell) === undefined ? undefined : `ends with ${JSON.stringify(cell)}, which is not a cell ID`;
}
