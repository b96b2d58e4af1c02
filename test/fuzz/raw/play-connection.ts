/** Plays one connection on real sockets, and gathers what comes back. Never rejects: whatever happens is seen. */
import net from "node:net";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import tls from "node:tls";
import { AnswerReader, unknownMethod } from "./answer-reader.ts";
import { type Seen } from "./judge.ts";
import {
  type ClientCertificate,
  type ConnectionPlan,
  lacksHandshake,
  type ListenerName,
  pausesMs,
  type RequestItem,
  type TLSUse,
} from "./plan.ts";
import { reset } from "./reset.ts";
import { openTamperedWire } from "./tampered-wire.ts";

/** A certificate with its key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Where listeners are, and who their clients may be. */
export interface Reach {
  readonly ports: Readonly<Record<ListenerName, number>>;
  readonly clients: Readonly<Record<Exclude<ClientCertificate, "none">, KeyPair>>;
}

/**
 * The listener allows 10 s for a handshake or a head, 30 s for a body, and a review 10 s. Once all is sent, and all of
 * these have passed, a connection that was half closed, or waits for an answer, hangs.
 */
const patienceMs = 90_000;

/** Content types of TLS records: from change_cipher_spec to application_data. */
const recordTypeMin = 20;
const recordTypeMax = 23;

/** Resolves within `limitMs`, whatever the sockets do. Default: what the plan takes by itself, and the patience. */
export async function playConnection(
  plan: ConnectionPlan,
  reach: Reach,
  limitMs = pausesMs(plan) + patienceMs,
): Promise<Seen> {
  const listener = { host: "127.0.0.1", port: reach.ports[plan.listener], localAddress: plan.address };
  const tampering = plan.tls?.tampering;
  const wire = tampering && (await openTamperedWire(listener, tampering));
  const player = new Player(plan, reach, wire === undefined ? listener : { host: "127.0.0.1", port: wire.port });
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      player.endedByUs("limit");
      // Not only when the sockets have closed: that they do not may be why it is overdue.
      resolve();
    }, limitMs);
  });
  try {
    await Promise.race([player.play(), overdue]);
  } finally {
    clearTimeout(timer);
    wire?.close();
  }
  return player.seen();
}

class Player {
  readonly #plan: ConnectionPlan;
  readonly #raw: net.Socket;
  /** What the pieces are written to: `#raw` or TLS over it. */
  readonly #stream: net.Socket;
  readonly #reader: AnswerReader;
  readonly #closed: Promise<void>;
  #endedBy: Seen["endedBy"] | undefined;
  #answered: () => void = () => {};
  #hasRecords = false;
  readonly #startMs = performance.now();

  /** `to`: the listener, or the wire before it. */
  constructor(plan: ConnectionPlan, reach: Reach, to: net.TcpNetConnectOpts) {
    this.#plan = plan;
    this.#reader = new AnswerReader(plan.requests.map(methodOf));
    this.#raw = net.connect({ ...to, allowHalfOpen: true, noDelay: true });
    this.#raw.on("error", () => this.#broken());
    this.#stream = plan.tls === undefined ? this.#raw : secure(this.#raw, plan.tls, reach);
    this.#stream.on("error", () => this.#broken());
    this.#closed = new Promise((resolve) => this.#stream.once("close", () => resolve()));
    this.#stream.on("end", () => this.#ended());
    this.#stream.on("close", () => {
      this.#endedBy ??= "reset";
      this.#raw.destroy();
      this.#answered();
    });
    if (plan.ending === "unread") {
      if (plan.tls === undefined) this.#stream.pause();
    } else {
      this.#stream.on("data", (chunk: Buffer) => this.#received(chunk));
    }
  }

  async play(): Promise<void> {
    const { tls: use } = this.#plan;
    if (use?.renegotiates === true) await this.#renegotiate();
    await this.#send();
    await this.#finish();
    await this.#closed;
  }

  seen(): Seen {
    const { answers, problem, isPartial } = this.#reader;
    const tookMs = performance.now() - this.#startMs;
    return { answers, problem, isPartial, endedBy: this.#endedBy ?? "reset", tookMs };
  }

  endedByUs(how: "us" | "limit"): void {
    this.#endedBy = how === "limit" ? how : (this.#endedBy ?? how);
    this.#stream.destroy();
    this.#raw.destroy();
  }

  #broken(): void {
    this.#endedBy ??= "reset";
    this.#stream.destroy();
    this.#raw.destroy();
  }

  #received(chunk: Buffer): void {
    if (lacksHandshake(this.#plan)) return this.#receivedRecords(chunk);
    this.#reader.push(chunk);
    this.#answered();
  }

  /** Who speaks no TLS is answered in TLS, or not at all. */
  #receivedRecords(chunk: Buffer): void {
    if (this.#hasRecords) return;
    this.#hasRecords = true;
    const type = chunk[0]!;
    if (type < recordTypeMin || type > recordTypeMax)
      this.#reader.problem = `no TLS: ${chunk.toString("latin1", 0, 300)}`;
  }

  #ended(): void {
    this.#endedBy ??= "end";
    this.#reader.end();
    // The peer has said all; what is still to be sent would meet a closed door. Node's TLS would wait for it for ever
    // when the connection is cut while it negotiates anew.
    this.#stream.destroy();
    this.#answered();
  }

  /** OpenSSL on the other side refuses, which ends the connection or not. */
  async #renegotiate(): Promise<void> {
    const stream = this.#stream as tls.TLSSocket;
    await this.#until("secureConnect");
    if (this.#stream.destroyed || stream.getProtocol() !== "TLSv1.2") return;
    stream.renegotiate({}, () => {});
  }

  #until(event: string): Promise<void> {
    const happened = new Promise<void>((resolve) => this.#stream.once(event, () => resolve()));
    return Promise.race([happened, this.#closed]);
  }

  async #send(): Promise<void> {
    for (const { bytes, pauseMs } of this.#plan.pieces) {
      if (pauseMs > 0) await delay(pauseMs);
      else await turn();
      if (this.#stream.destroyed || !this.#stream.writable) return;
      this.#stream.write(bytes, () => {});
    }
  }

  async #finish(): Promise<void> {
    const { ending, lingerMs } = this.#plan;
    if (ending === "halfClose") return void this.#stream.end();
    if (ending === "answers") {
      await this.#allAnswered();
      return this.endedByUs("us");
    }
    // A client that leaves before it is there has tried nothing.
    if (this.#raw.connecting)
      await Promise.race([new Promise((resolve) => this.#raw.once("connect", resolve)), this.#closed]);
    await delay(lingerMs);
    this.#endedBy ??= "us";
    if (ending === "leave") this.#raw.destroy();
    else reset(this.#raw, this.#stream);
    this.#stream.destroy();
  }

  /** Or no more answers can come. */
  #allAnswered(): Promise<void> {
    return new Promise((resolve) => {
      this.#answered = () => {
        const { answers, problem } = this.#reader;
        const isDone = answers.length >= this.#plan.requests.length || problem !== undefined;
        if (isDone || this.#endedBy !== undefined || this.#stream.destroyed) resolve();
      };
      this.#answered();
    });
  }
}

/** Damage may change it, or whose answer comes when. */
const methodOf = ({ method, expects }: RequestItem): string => (expects === "anything" ? unknownMethod : method);

function secure(socket: net.Socket, use: TLSUse, reach: Reach): tls.TLSSocket {
  return tls.connect({
    socket,
    // Whether the server is the right one is no matter here.
    rejectUnauthorized: false,
    minVersion: use.version,
    maxVersion: use.version,
    ...(use.protocols.length > 0 && { ALPNProtocols: [...use.protocols] }),
    ...(use.client !== "none" && reach.clients[use.client]),
  });
}
