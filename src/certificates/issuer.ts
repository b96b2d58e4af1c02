/**
 * Issues the certificate of the webhook, and renews it with its authorities before they end. One leader runs it
 * (docs/webhook.md#built-in). Each pass reads all that is stored and begins from there, so a crash between two writes
 * and a leader that comes back late do no harm: whoever writes later than another meets a conflict.
 */
import { type EventRecorder } from "../kube/event-recorder.ts";
import { isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { messageOf } from "../util/printable.ts";
import { type Logger } from "../util/logger.ts";
import { type Gauge, type Metrics } from "../util/metrics.ts";
import { asList, fieldsOf } from "../api/json.ts";
import { createAuthority, type KeyPair, signServerCertificate } from "./authority.ts";
import { authoritySecret, readData, type ReadData, servedSecret, trustedConfigMap, writeData } from "./objects.ts";
import { type ServerNames } from "./request.ts";
import {
  type Authority,
  bundleOf,
  clockProblem,
  type Lifetimes,
  lifetimesDefault,
  needsAuthority,
  planLeaf,
  readAuthorities,
  readServed,
  stillTrusted,
  StoredCertificateError,
  type Times,
  validityFrom,
} from "./rotation.ts";

/** Three small reads; nothing here is due to the minute. */
const passMs = 60_000;
/** Key of the Secret with the authorities: a JSON list of pairs. */
const authoritiesKey = "authorities";

export interface IssuerOptions {
  /** Of the core. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the webhook, as API servers call it. */
  readonly names: ServerNames;
  readonly lifetimes?: Lifetimes;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

interface Objects extends Times {
  readonly authorities: ReadData;
  readonly served: ReadData;
  readonly trusted: ReadData;
  readonly nowMs: number;
}

export class CertificateIssuer {
  readonly #options: IssuerOptions;
  readonly #lifetimes: Lifetimes;
  readonly #problem: Gauge;
  #told = "";

  constructor(options: IssuerOptions) {
    this.#options = options;
    this.#lifetimes = options.lifetimes ?? lifetimesDefault;
    this.#problem = options.metrics.gauge(
      "generator_certificate_issuer_problem",
      "1 while the certificate of the webhook cannot be issued or renewed as it should be, else 0",
    );
  }

  /** Issues and renews until the signal aborts. */
  async lead(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let problem: string | undefined;
      try {
        problem = await this.#pass(signal);
      } catch (error) {
        if (!isKubeError(error) && !(error instanceof StoredCertificateError)) throw error;
        // Somebody else has written in between; the next pass begins from there.
        problem = isKubeError(error, "conflict", "aborted") ? undefined : messageOf(error);
      }
      if (!signal.aborted) this.#tell(problem);
      await sleep(this.#options.clock, passMs, signal);
    }
    // Of the leader alone.
    this.#problem.set({}, 0);
  }

  /** In an order in which each step can be the last one. Returns what a person should know. */
  async #pass(signal: AbortSignal): Promise<string | undefined> {
    const { names } = this.#options;
    const { leafMs } = this.#lifetimes;
    const objects = await this.#read(signal);
    const { nowMs } = objects;
    const known = readAuthorities(decodePairs(objects.authorities.data[authoritiesKey]));
    const untimely = clockProblem(objects, known);
    if (untimely !== undefined) return untimely;
    const trusted = await this.#renewAuthorities(objects, known, signal);
    const { data } = objects.served;
    const stored = {
      certificate: data["tls.crt"] ?? "",
      privateKey: data["tls.key"] ?? "",
      authorities: data["ca.crt"] ?? "",
    };
    const served = readServed(stored, trusted, nowMs);
    const bundle = bundleOf(trusted, { served, stored, nowMs });
    if (objects.trusted.data["ca.crt"] !== bundle) {
      await writeData(this.#options, trustedConfigMap, objects.trusted, { "ca.crt": bundle }, signal);
      this.#options.logger.info("Published the authorities of the webhook", { authorities: trusted.length });
    }
    const plan = planLeaf(served, trusted, { names, nowMs, leafMs });
    if (plan.kind === "sign") await this.#sign(plan.signer, objects, bundle, signal);
    else if (stored.authorities !== bundle)
      await writeData(this.#options, servedSecret, objects.served, { "ca.crt": bundle }, signal);
    return plan.kind === "wait" ? plan.problem : undefined;
  }

  async #read(signal: AbortSignal): Promise<Objects> {
    const [authorities, served, trusted] = await Promise.all(
      [authoritySecret, servedSecret, trustedConfigMap].map((object) => readData(this.#options, object, signal)),
    );
    if (authorities === undefined || served === undefined || trusted === undefined)
      throw new StoredCertificateError("the objects were not read");
    // API servers judge what is issued by their clock, and not by that of this process.
    const serverMs = trusted.serverTimeMs;
    const ownMs = this.#options.clock.epochMicros() / 1_000;
    return { authorities, served, trusted, serverMs, ownMs, nowMs: serverMs ?? ownMs };
  }

  /** Forgets those that are over, and makes the next one in time. Returns those that are trusted from now on. */
  async #renewAuthorities(
    { authorities, nowMs }: Objects,
    stored: readonly Authority[],
    signal: AbortSignal,
  ): Promise<readonly Authority[]> {
    const { authorityMs } = this.#lifetimes;
    const kept = stillTrusted(stored, nowMs);
    const isDue = needsAuthority(kept, nowMs, this.#lifetimes);
    if (!isDue && kept.length === stored.length) return kept;
    const made = isDue ? [await createAuthority("podseidon-webhook-ca", validityFrom(nowMs, authorityMs))] : [];
    const pairs = [...kept.map(({ pair }) => pair), ...made];
    await writeData(this.#options, authoritySecret, authorities, { [authoritiesKey]: JSON.stringify(pairs) }, signal);
    if (isDue) this.#options.logger.info("Made an authority for the webhook", { authorities: pairs.length });
    return readAuthorities(pairs);
  }

  async #sign(signer: Authority, { served, nowMs }: Objects, bundle: string, signal: AbortSignal): Promise<void> {
    const validity = validityFrom(nowMs, this.#lifetimes.leafMs);
    const notAfter = new Date(Math.min(validity.notAfter.getTime(), signer.certificate.validToDate.getTime()));
    const leaf = await signServerCertificate(signer.pair, this.#options.names, { ...validity, notAfter });
    const data = { "tls.crt": leaf.certificate, "tls.key": leaf.privateKey, "ca.crt": bundle };
    await writeData(this.#options, servedSecret, served, data, signal);
    this.#options.logger.info("Issued a certificate for the webhook", { expires: notAfter.toISOString() });
  }

  #tell(problem: string | undefined): void {
    const { events, logger, namespace } = this.#options;
    this.#problem.set({}, problem === undefined ? 0 : 1);
    if (problem === undefined) {
      if (this.#told !== "") logger.info("The certificate of the webhook is issued again");
    } else {
      if (problem !== this.#told) logger.error("Cannot issue the certificate of the webhook", { problem });
      const regarding = { apiVersion: "v1", kind: "Secret", namespace, name: servedSecret.name };
      events.record(regarding, "Warning", "CertificateNotIssued", `Cannot issue the webhook's certificate: ${problem}`);
    }
    this.#told = problem ?? "";
  }
}

/** Throws a StoredCertificateError: what cannot be read must not be taken for "none", or all would be cut off. */
function decodePairs(text: string | undefined): KeyPair[] {
  if (text === undefined || text === "") return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new StoredCertificateError(`the key ${authoritiesKey} of the Secret ${authoritySecret.name} is not JSON`);
  }
  return asList(parsed).map((entry) => {
    const { certificate, privateKey } = fieldsOf(entry);
    if (typeof certificate !== "string" || typeof privateKey !== "string")
      throw new StoredCertificateError(`the key ${authoritiesKey} of the Secret ${authoritySecret.name} is broken`);
    return { certificate, privateKey };
  });
}
