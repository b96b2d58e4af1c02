/** Reads server-sent events from an answer, as a browser does. */
import assert from "node:assert/strict";
import { type Update } from "../../../../../src/commands/dashboard/model/view.ts";

export interface SentEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly update: Update;
}

export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(answer: Response) {
    assert(answer.body !== null);
    this.#reader = answer.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  /** Undefined = the stream has ended. */
  async next(): Promise<SentEvent | undefined> {
    while (!this.#text.includes("\n\n")) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
    const end = this.#text.indexOf("\n\n");
    const lines = this.#text.slice(0, end).split("\n");
    this.#text = this.#text.slice(end + 2);
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    return { event: field("event"), id: field("id"), update: JSON.parse(field("data") ?? "") as Update };
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}
