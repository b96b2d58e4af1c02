/** Plays one connection on real sockets, and gathers what comes back. Never rejects: whatever happens is seen. */
import net from "node:net";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import tls from "node:tls";
import { AnswerReader } from "./answer-reader.ts";
import { type Seen } from "./judge.ts";
import { type ClientCertificate, type ConnectionPlan, lacksHandshake, type ListenerName, type TLSUse } from "./plan.ts";
import { TamperedWire } from "./tampered-wire.ts";

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
 * The listener allows 10 s for a handshake or a head, 30 s for a body, and a review 10 s. Beyond all of these together
 * a connection that was half closed, or waits for an answer, hangs.
 */
const limitMsDefault = 90_000;

/** Content types of TLS records: from change_cipher_spec to application_data. */
const recordTypeMin = 20;
const recordTypeMax = 23;

export async function playConnection(plan: ConnectionPlan, reach: Reach, limitMs = limitMsDefault): Promise<Seen> {
  const player = new Player(plan, reach);
  const timer = setTimeout(() => player.endedByUs("limit"), limitMs);
  try {
    await player.play();
    await player.closed;
  } finally {
    clearTimeout(timer);
  }
  return player.seen();
}

class Player {
  readonly #plan: ConnectionPlan;
  readonly #raw: net.Socket;
  /** What the pieces are written to: `#raw` or TLS over it. */
  readonly #stream: net.Socket;
  readonly #reader: AnswerReader;
  readonly closed: Promise<void>;
  #endedBy: Seen["endedBy"] | undefined;
  #answered: () => void = () => {};
  #hasRecords = false;

  constructor(plan: ConnectionPlan, reach: Reach) {
    this.#plan = plan;
    this.#reader = new AnswerReader(plan.requests.map(({ method }) => method));
    const port = reach.ports[plan.listener];
    this.#raw = net.connect({ host: "127.0.0.1", port, localAddress: plan.address, allowHalfOpen: true });
    this.#raw.setNoDelay(true);
    this.#raw.on("error", () => this.#broken());
    this.#stream = plan.tls === undefined ? this.#raw : secure(this.#raw, plan.tls, reach);
    this.#stream.on("error", () => this.#broken());
    this.closed = new Promise((resolve) => this.#stream.once("close", () => resolve()));
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
  }

  seen(): Seen {
    const { answers, problem, isPartial } = this.#reader;
    return { answers, problem, isPartial, endedBy: this.#endedBy ?? "reset" };
  }

  endedByUs(how: "us" | "limit"): void {
    this.#endedBy = how === "limit" ? how : (this.#endedBy ?? how);
    this.#stream.destroy();
    this.#raw.destroy();
  }

  /** TLS over a wire of ours reports an error, and stays open. */
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
    // The peer has said all; what is still to be sent would meet a closed door.
    this.#stream.end();
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
    return Promise.race([happened, this.closed]);
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
      await Promise.race([new Promise((resolve) => this.#raw.once("connect", resolve)), this.closed]);
    await delay(lingerMs);
    this.#endedBy ??= "us";
    if (ending === "leave") this.#raw.destroy();
    else this.#raw.resetAndDestroy();
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

function secure(raw: net.Socket, use: TLSUse, reach: Reach): tls.TLSSocket {
  const socket = use.tampering === undefined ? raw : new TamperedWire(raw, use.tampering);
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
