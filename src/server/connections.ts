/**
 * The connections of a listener: who keeps one when there are many, and how all of them end in a graceful stop.
 *
 * Whoever reaches the port can open connections, and need not send anything. So a connection has to earn its place: one
 * that was answered with less than 400 has, and is only ended together with an answer (`Connection: close`), because an
 * API server does not repeat a POST that meets a closed connection. Any other ends with its first answer, and when the
 * listener is full the oldest of them makes room for a newcomer: a client that means it is answered in milliseconds.
 */
import { type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type Socket } from "node:net";
import { type TLSSocket } from "node:tls";
import { type Clock } from "../util/clock.ts";

/**
 * Why a connection was ended that nobody had asked to end:
 * - `displaced`: it had earned nothing, and a newcomer needed its place;
 * - `full`: the newcomer, because all the others have earned theirs;
 * - `address`: the newcomer, because its address has as many as one may have;
 * - `pipelined`: it sent more requests at once than anybody needs.
 */
export type DropReason = "displaced" | "full" | "address" | "pipelined";

export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** Of one address, as long as no client certificate identifies the peer. Default: no limit of its own. */
  readonly perAddressMax?: number | undefined;
  /** Whether a connection may be used again; false = every answer ends its connection. Default: true. */
  readonly isReusable?: boolean | undefined;
  readonly onDropped?: ((reason: DropReason) => void) | undefined;
}

/** An API server sends one request at a time. Two may overlap here when the end of an answer is noticed late. */
const requestsAtOnceMax = 8;

interface Connection {
  socket: Socket;
  readonly address: string;
  /** "address|port": a TLS socket has these of the socket below it. All who were gone before they came share "|0". */
  readonly peer: string;
  hasEarned: boolean;
  isIdentified: boolean;
  /** Its next answer is the last one. */
  isEnding: boolean;
  hasLeft: boolean;
  /** Requests that are not answered yet. */
  requests: number;
  lastResponse: ServerResponse | undefined;
}

/** Connections that share a limit, in the order in which they came. */
class Group {
  size = 0;
  /** Have earned nothing, and no request of theirs is under way. */
  readonly #idle = new Set<Connection>();
  /** Have earned nothing yet: the first request is under way. */
  readonly #busy = new Set<Connection>();

  add(connection: Connection): void {
    this.size += 1;
    this.#idle.add(connection);
  }

  delete(connection: Connection): void {
    this.size -= 1;
    this.#idle.delete(connection);
    this.#busy.delete(connection);
  }

  moved(connection: Connection): void {
    this.#idle.delete(connection);
    this.#busy.delete(connection);
    if (!connection.hasEarned) (connection.requests > 0 ? this.#busy : this.#idle).add(connection);
  }

  /** The first one that may be ended; undefined = none may. */
  get dispensable(): Connection | undefined {
    for (const connection of this.#idle) return connection;
    for (const connection of this.#busy) return connection;
    return undefined;
  }
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #all = new Group();
  readonly #byAddress = new Map<string, Group>();
  readonly #byPeer = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #server: Server | undefined;
  #isKeepAliveDisabled = false;
  #isClosing = false;
  /** For the option of the server: answers that know whether their connection has earned its place. */
  readonly Response: typeof ServerResponse;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    const answers = (request: IncomingMessage, status: number): boolean => this.#answers(request.socket, status);
    this.Response = class<Request extends IncomingMessage> extends ServerResponse<Request> {
      override writeHead(status: number, ...rest: never[]): this {
        if (!answers(this.req, status)) this.shouldKeepAlive = false;
        return super.writeHead(status, ...rest);
      }
    };
  }

  /** From now on keeps the connections of `server`, which has not listened yet. */
  watch(server: Server): void {
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#opened(socket));
    server.on("secureConnection", (socket: TLSSocket) => this.#secured(socket));
    // Before the app, which may respond at once.
    server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) =>
      this.#asked(socket, response),
    );
  }

  /** A client certificate tells who the peer is, so it is no matter from which address it comes. */
  identified(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || connection.isIdentified) return;
    this.#leaveAddress(connection);
    connection.isIdentified = true;
  }

  /** Also when it has earned its place. A connection that is idle ends by the time limit for these. */
  endWithNextAnswer(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    connection.isEnding = true;
    if (connection.lastResponse) connection.lastResponse.shouldKeepAlive = false;
  }

  /** See Listener. */
  disableKeepAlive(): void {
    this.#isKeepAliveDisabled = true;
    for (const { lastResponse } of this.#byPeer.values()) if (lastResponse) lastResponse.shouldKeepAlive = false;
  }

  /** See Listener. */
  async close(graceMs: number, clock: Clock): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.disableKeepAlive();
    this.#isClosing = true;
    for (const { lastResponse } of this.#byPeer.values())
      if (lastResponse?.closed === false) this.#closeAfter(lastResponse);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const timer = clock.setTimer(graceMs, () => {
      for (const { socket } of this.#byPeer.values()) socket.destroy();
    });
    await closed;
    timer.cancel();
  }

  #opened(socket: Socket): void {
    const { connectionsMax, perAddressMax = Number.POSITIVE_INFINITY } = this.#limits;
    const address = socket.remoteAddress ?? "";
    const group = this.#byAddress.get(address) ?? new Group();
    if (group.size >= perAddressMax && !this.#makeRoom(group)) return this.#drop(socket, "address");
    if (this.#all.size >= connectionsMax && !this.#makeRoom(this.#all)) return this.#drop(socket, "full");
    const connection: Connection = {
      socket,
      address,
      peer: peerOf(socket),
      hasEarned: false,
      isIdentified: false,
      isEnding: false,
      hasLeft: false,
      requests: 0,
      lastResponse: undefined,
    };
    this.#all.add(connection);
    group.add(connection);
    this.#byAddress.set(address, group);
    this.#byPeer.set(connection.peer, connection);
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#leave(connection));
  }

  #secured(socket: TLSSocket): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection === undefined) return;
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
  }

  #asked(socket: Socket, response: ServerResponse): void {
    // "Connection: close" tells the client not to send its next request here.
    if (this.#isKeepAliveDisabled) response.shouldKeepAlive = false;
    if (this.#isClosing) this.#closeAfter(response);
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    if (connection.isEnding) response.shouldKeepAlive = false;
    connection.lastResponse = response;
    connection.requests += 1;
    if (connection.requests > requestsAtOnceMax) return this.#end(connection, "pipelined");
    if (!connection.hasEarned) this.#moved(connection);
    response.once("close", () => {
      connection.requests -= 1;
      if (!connection.hasEarned) this.#moved(connection);
    });
  }

  /** The head of an answer is being written. Returns whether the connection may be used again. */
  #answers(socket: Socket, status: number): boolean {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined || this.#limits.isReusable === false) return false;
    if (status < 400 && !connection.hasEarned) {
      connection.hasEarned = true;
      this.#moved(connection);
    }
    return connection.hasEarned;
  }

  /** One that has earned its place is in no list any more, so that only its first requests are looked at here. */
  #moved(connection: Connection): void {
    if (connection.hasLeft) return;
    this.#all.moved(connection);
    if (!connection.isIdentified) this.#byAddress.get(connection.address)?.moved(connection);
  }

  /** False = all the others have earned their places. */
  #makeRoom(group: Group): boolean {
    const victim = group.dispensable;
    if (victim === undefined) return false;
    this.#end(victim, "displaced");
    return true;
  }

  #end(connection: Connection, reason: DropReason): void {
    this.#leave(connection);
    this.#drop(connection.socket, reason);
  }

  #drop(socket: Socket, reason: DropReason): void {
    socket.destroy();
    this.#limits.onDropped?.(reason);
  }

  #leave(connection: Connection): void {
    if (connection.hasLeft) return;
    connection.hasLeft = true;
    if (this.#byPeer.get(connection.peer) === connection) this.#byPeer.delete(connection.peer);
    this.#all.delete(connection);
    if (!connection.isIdentified) this.#leaveAddress(connection);
  }

  #leaveAddress(connection: Connection): void {
    const group = this.#byAddress.get(connection.address);
    group?.delete(connection);
    if (group?.size === 0) this.#byAddress.delete(connection.address);
  }

  #closeAfter(response: ServerResponse): void {
    response.once("close", () => this.#server?.closeIdleConnections());
  }
}

function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress}|${remotePort}`;
}
