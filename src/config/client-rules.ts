/**
 * What flags about the webhook's callers have to agree on. Each rule returns one line that names the flags and what is
 * allowed, or nothing.
 */
import { readClientCell } from "./types/address.ts";
import { type FlagValues } from "./flag-table.ts";

const flag = "--webhook-client-cells";
/** Cells that a message names. */
const namedMax = 10;

/** The cells that each client may speak for, by name; empty = clients are not bound to cells. */
export function clientCells(values: FlagValues): ReadonlyMap<string, ReadonlySet<string>> {
  const byName = Map.groupBy(values["webhook-client-cells"].map(readClientCell), ({ name }) => name);
  return new Map(Array.from(byName, ([name, of]) => [name, new Set(of.map(({ cell }) => cell))]));
}

/** Client certificates protect nothing while another port asks for none. */
export function clientCaClosesHttp(values: FlagValues): string | undefined {
  const named = (["webhook-client-allowed-names", "webhook-client-cells"] as const).find((name) => values[name].length);
  if (values["webhook-client-ca-file"] === "") {
    return named && `--${named} requires --webhook-client-ca-file`;
  }
  if (!values["webhook-https-enable"]) return "--webhook-client-ca-file requires --webhook-https-enable";
  return values["webhook-enable"]
    ? "--webhook-client-ca-file requires --webhook-enable=false: HTTP would serve clients without a certificate"
    : undefined;
}

/** One flag says which clients there are. */
export function clientsAreNamedOnce(values: FlagValues): string | undefined {
  if (values["webhook-client-cells"].length === 0 || values["webhook-client-allowed-names"].length === 0)
    return undefined;
  return (
    `--webhook-client-allowed-names is not allowed with ${flag}, which names the clients already; ` +
    "allowed: one of them"
  );
}

/** All cells by label are in one worker cluster, whose API server speaks for each of them. */
export function clientsNameNoLabelCells(values: FlagValues): string | undefined {
  if (values["webhook-client-cells"].length === 0 || values["webhook-cell-label"] === "") return undefined;
  return (
    `${flag} is not allowed with --webhook-cell-label (${values["webhook-cell-label"]}): the label of the pod names ` +
    "the cell, not the URL; allowed: --webhook-client-allowed-names"
  );
}

/** A cell that only one of the two flags names would be refused, whoever asks. */
export function clientCellsAreServed(values: FlagValues): string | undefined {
  const served = new Set(values["webhook-allowed-cells"]);
  const bound = new Set(
    clientCells(values)
      .values()
      .flatMap((cells) => [...cells]),
  );
  if (served.size === 0 || bound.size === 0) return undefined;
  const unserved = [...bound].find((cell) => !served.has(cell));
  if (unserved !== undefined)
    return (
      `${flag} names the cell ${unserved}, which is not one of --webhook-allowed-cells; allowed: ` +
      [...served].slice(0, namedMax).join(", ")
    );
  const unbound = [...served].find((cell) => !bound.has(cell));
  if (unbound === undefined) return undefined;
  return (
    `--webhook-allowed-cells names the cell ${unbound}, for which no client of ${flag} may speak; allowed: ` +
    [...bound].slice(0, namedMax).join(", ")
  );
}
