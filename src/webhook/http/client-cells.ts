/**
 * Which cells a caller may speak for, by the names of its client certificate (--webhook-client-cells). Who is a client
 * at all is decided before, once per connection (src/server/client-auth.ts).
 */
import { type Socket } from "node:net";
import { certificateNames, quoteNames } from "../../server/client-auth.ts";
import { type Logger } from "../../util/logger.ts";

/** Pairs of a client and a cell that are logged: more than a mistake in the flags of a fleet makes. */
const loggedMax = 1_000;
/** Cells that an answer names. */
const namedMax = 8;

interface Client {
  readonly names: readonly string[];
  readonly cells: ReadonlySet<string>;
}

export class ClientCells {
  readonly #cellsByName: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #logger: Logger;
  readonly #clients = new WeakMap<Socket, Client>();
  readonly #logged = new Set<string>();

  /** `cellsByName`: the cells that the client with this name may speak for; empty = every client for every cell. */
  constructor(cellsByName: ReadonlyMap<string, ReadonlySet<string>>, logger: Logger) {
    this.#cellsByName = cellsByName;
    this.#logger = logger;
  }

  /**
   * Why the client of the connection may not speak for the cell, for people, and logged once for each pair; undefined =
   * it may. A connection without a certificate may speak for no cell. `cellID` is a valid one.
   */
  refusal(socket: Socket | undefined, cellID: string): string | undefined {
    if (this.#cellsByName.size === 0) return undefined;
    const { names, cells } = this.#clientOf(socket);
    if (cells.has(cellID)) return undefined;
    const client = names.length === 0 ? "a client without a certificate" : `the client ${quoteNames(names)}`;
    const own = [...cells].slice(0, namedMax).map((cell) => JSON.stringify(cell));
    const message =
      `${client} may not speak for the cell ${JSON.stringify(cellID)} (--webhook-client-cells); ` +
      `allowed: ${own.length === 0 ? "no cell" : own.join(", ")}`;
    if (!this.#logged.has(message) && this.#logged.size < loggedMax) {
      this.#logged.add(message);
      this.#logger.warn("Client spoke for a cell that is not its own", { cell: cellID, reason: message });
    }
    return message;
  }

  #clientOf(socket: Socket | undefined): Client {
    if (socket === undefined) return { names: [], cells: new Set() };
    const known = this.#clients.get(socket);
    if (known !== undefined) return known;
    const names = certificateNames(socket);
    const client = { names, cells: new Set(names.flatMap((name) => [...(this.#cellsByName.get(name) ?? [])])) };
    this.#clients.set(socket, client);
    return client;
  }
}
