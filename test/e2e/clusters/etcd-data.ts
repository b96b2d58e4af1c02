/** What happens to an etcd behind its API server's back: objects are lost, it grows old, it runs full. */
import assert from "node:assert/strict";
import { request } from "undici";
import { Limiter } from "./limiter.ts";
import { second, waitFor } from "./wait.ts";

const requestsInFlight = 16;
/** Below the 1.5 MiB that etcd takes in a request, as base64 too. */
const fillingBytes = 512 * 1024;
const fillLimitMs = 60 * second;
const filling = "/e2e/fill/";

/** Of an answer. */
interface Header {
  readonly member_id: string;
  readonly revision: string;
}

export class EtcdData {
  readonly #url: string;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}/v3`;
  }

  /**
   * Takes an object out: no finalizer is asked, no deletionTimestamp is ever seen. `path` is the object's key without
   * the prefix, such as "deployments/default/web". Throws when there was no such key.
   */
  async loseObject(path: string): Promise<void> {
    const deleted = await this.#deleteRange({ key: base64(`/registry/${path}`) });
    if (deleted !== 1) throw new Error(`etcd has no /registry/${path}`);
  }

  /** The same for all keys that begin with `prefix`, which ends with a slash. Resolves to their number. */
  async loseObjects(prefix: string): Promise<number> {
    return this.#deleteRange(below(`/registry/${prefix}`));
  }

  /** So many more versions, as of a cluster that has been in use: a new history reaches them only after a while. */
  async age(versions: number): Promise<void> {
    await new Limiter(requestsInFlight).all(Array.from({ length: versions }), () => this.#put("/e2e/age", "-"));
  }

  /** Resolves when no write has room any more (alarm NOSPACE); reads and deletions go on. It needs a small quota. */
  async fill(): Promise<void> {
    let number = 0;
    await waitFor("etcd is full", fillLimitMs, async () => {
      return (await this.#put(`${filling}${number++}`, "x".repeat(fillingBytes))) !== 200;
    });
  }

  /** Undoes `fill`, as the documentation of etcd has it: compact, defragment, take the alarm back. */
  async empty(): Promise<void> {
    await this.#deleteRange(below(filling));
    const { header } = (await this.#ask("maintenance/status", {})) as Readonly<Record<"header", Header>>;
    await this.#ask("kv/compaction", { revision: header.revision, physical: true });
    await this.#ask("maintenance/defragment", {});
    await this.#ask("maintenance/alarm", { action: "DEACTIVATE", memberID: header.member_id, alarm: "NOSPACE" });
  }

  async #deleteRange(range: Readonly<Record<string, string>>): Promise<number> {
    return Number(((await this.#ask("kv/deleterange", range)) as { readonly deleted?: string }).deleted ?? 0);
  }

  /** Resolves to the code of the answer. */
  async #put(key: string, value: string): Promise<number> {
    const body = JSON.stringify({ key: base64(key), value: base64(value) });
    const { statusCode, body: answer } = await request(`${this.#url}/kv/put`, { method: "POST", body });
    await answer.dump();
    return statusCode;
  }

  async #ask(path: string, body: object): Promise<unknown> {
    const answer = await request(`${this.#url}/${path}`, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.body.text();
    assert.equal(answer.statusCode, 200, `${path}: ${text}`);
    return JSON.parse(text);
  }
}

function below(prefix: string): { readonly key: string; readonly range_end: string } {
  const end = `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`;
  return { key: base64(prefix), range_end: base64(end) };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
