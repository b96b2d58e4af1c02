/** Who means it well: a client that asks one review after the other over one connection, kept or new. */
import net from "node:net";
import tls from "node:tls";
import { cell } from "../../attack/bodies.ts";
import { deleteReview, pod } from "../../unit/webhook/support/objects.ts";
import { AnswerReader } from "./answer-reader.ts";
import { type KeyPair } from "./play-connection.ts";

/** What the configuration of a webhook gives a review, and as much again for a busy machine. */
const patienceMs = 60_000;

export class Caller {
  readonly #socket: net.Socket;
  readonly #reader = new AnswerReader([]);
  #heard: () => void = () => {};
  #isClosed = false;

  /** `use`: TLS, with a client certificate if one is given. */
  constructor(port: number, use?: { readonly client: KeyPair | undefined }) {
    const at = { host: "127.0.0.1", port };
    this.#socket =
      use === undefined ? net.connect(at) : tls.connect({ ...at, rejectUnauthorized: false, ...use.client });
    this.#socket.on("error", () => {});
    this.#socket.on("data", (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#heard();
    });
    this.#socket.on("close", () => {
      this.#isClosed = true;
      this.#heard();
    });
  }

  /** Why the API server would fail the deletion; undefined = it was decided and allowed, and the connection stays. */
  async ask(uid: string): Promise<string | undefined> {
    const body = JSON.stringify(deleteReview(pod(`p-${uid}`), { uid, dryRun: true }));
    const length = Buffer.byteLength(body);
    const before = this.#reader.answers.length;
    this.#socket.write(
      `POST /${cell}?timeout=10s HTTP/1.1\r\nHost: webhook\r\nContent-Length: ${length}\r\n\r\n${body}`,
    );
    await this.#answerAfter(before);
    const { answers, problem } = this.#reader;
    const answer = answers[before];
    if (problem !== undefined) return problem;
    if (answer === undefined) return this.#isClosed ? "the connection was closed" : "no answer";
    const isDecided = answer.status === 200 && answer.body.includes(`"uid":"${uid}","allowed":true`);
    return isDecided && !answer.isLast ? undefined : `HTTP ${answer.status}: ${answer.body.slice(0, 300)}`;
  }

  close(): void {
    this.#socket.destroy();
  }

  #answerAfter(count: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#heard = () => {
        if (this.#reader.answers.length <= count && this.#reader.problem === undefined && !this.#isClosed) return;
        clearTimeout(timer);
        resolve();
      };
      this.#heard();
    });
  }
}
