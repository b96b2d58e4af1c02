/**
 * The scales of objects that are watched: one GET for each change of an object that its scale may depend on, and none
 * for one that is as it was (fingerprint.ts). Answers that are no scale are not remembered; who gets one asks again
 * later.
 */
import { type KubeClient } from "../kube/kube-client.ts";
import { type Fingerprint, hasSameScale } from "./fingerprint.ts";
import { readScale, type Scale, type ScaleAnswer, type ScaleTarget } from "./read-scale.ts";

/** More objects than one core has workloads; some hundred bytes each. */
const scalesMax = 200_000;

interface Known {
  readonly fingerprint: Fingerprint;
  readonly scale: Scale;
}

export class ScaleMemory {
  readonly #client: KubeClient;
  /** By the UID of the object, the one that was read longest ago first. */
  readonly #known = new Map<string, Known>();
  /** Reads that are under way, by the UID of the object. */
  readonly #reading = new Map<string, { readonly fingerprint: Fingerprint; readonly answer: Promise<ScaleAnswer> }>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The scale of an object in a state of which `fingerprint` was taken. Rejects only when `signal` aborts. */
  async read(target: ScaleTarget, fingerprint: Fingerprint, signal: AbortSignal): Promise<ScaleAnswer> {
    const known = this.#known.get(target.uid);
    if (known !== undefined && hasSameScale(known.fingerprint, fingerprint, known.scale.selector))
      return { kind: "scale", scale: known.scale };
    const reading = this.#reading.get(target.uid);
    // Only of the same state: what was asked for before a change may not show it.
    if (reading !== undefined && hasSameScale(reading.fingerprint, fingerprint, "")) return await reading.answer;
    const asked = { fingerprint, answer: this.#ask(target, fingerprint, signal) };
    this.#reading.set(target.uid, asked);
    try {
      return await asked.answer;
    } finally {
      if (this.#reading.get(target.uid) === asked) this.#reading.delete(target.uid);
    }
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  async #ask(target: ScaleTarget, fingerprint: Fingerprint, signal: AbortSignal): Promise<ScaleAnswer> {
    const answer = await readScale(this.#client, target, signal);
    if (answer.kind !== "scale") return answer;
    this.#known.delete(target.uid);
    this.#known.set(target.uid, { fingerprint, scale: answer.scale });
    const oldest = this.#known.keys().next();
    if (this.#known.size > scalesMax && oldest.done !== true) this.#known.delete(oldest.value);
    return answer;
  }
}
