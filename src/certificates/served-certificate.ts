/**
 * What a webhook serves when certificates are issued for it: read from the Secret by its name, again and again. A watch
 * would bring nothing, since what is served changes every two months, and would need the right to list.
 */
import { isKubeError } from "../kube/kube-client.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { Outage } from "../util/outage.ts";
import { type Place, readData, servedSecret } from "./objects.ts";

/** As often as files are read. */
const pollMs = 10_000;

export interface ServedPair {
  readonly cert: string;
  readonly key: string;
}

export class ServedCertificate {
  readonly #place: Place;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #outage: Outage;
  #latest: ServedPair | undefined;

  constructor({ clock, logger, ...place }: Place & { readonly clock: Clock; readonly logger: Logger }) {
    this.#place = place;
    this.#clock = clock;
    this.#logger = logger;
    this.#outage = new Outage(clock);
  }

  /** The last that was read; undefined = none yet. It stays while the core cannot be reached. */
  latest(): ServedPair | undefined {
    return this.#latest;
  }

  /** Reads until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.read(signal);
      await sleep(this.#clock, pollMs, signal);
    }
  }

  /** Reads once. Never throws for operating errors. */
  async read(signal?: AbortSignal): Promise<void> {
    const object = `${this.#place.namespace}/${servedSecret.name}`;
    try {
      const { data } = await readData(this.#place, servedSecret, signal);
      const { "tls.crt": cert = "", "tls.key": key = "" } = data;
      if (cert === "" || key === "") {
        if (this.#outage.failed("empty")) this.#logger.warn("No certificate is issued yet", { secret: object });
        return;
      }
      this.#latest = { cert, key };
      const outage = this.#outage.ended();
      if (outage !== undefined) this.#logger.info("The certificate can be read again", { secret: object, ...outage });
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (error.kind !== "aborted" && this.#outage.failed(error.kind))
        this.#logger.warn("Cannot read the certificate, keeping the old one", { secret: object, err: error });
    }
  }
}
