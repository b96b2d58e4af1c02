/**
 * When the certificates in use end: a gauge, and from 30 days before a warning a day. What is behind a certificate that
 * has ended is gone all at once, and nothing else tells of it before.
 */
import { type X509Certificate } from "node:crypto";
import { type Component } from "../lifecycle/component.ts";
import { type CertificateUses, type EndingCertificate } from "../util/certificate-use.ts";
import { type Clock, type Timer } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Gauge, type Metrics } from "../util/metrics.ts";
import { readCertificates, subjectOf } from "../util/pem-certificates.ts";

export interface CertificateExpiryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const dayMs = 24 * 3_600_000;
/** Enough to renew a certificate by hand. */
const warnedMs = 30 * dayMs;
/**
 * Certificates that are renewed by themselves are often shorter than that, and are replaced when two thirds of their
 * time are over.
 */
const warnedShare = 1 / 3;
/** A person looks at a log once a day at best. */
const checkMs = dayMs;
/** More than a fleet has clusters. Files of that many certificates are bundles that nobody renews one by one. */
const certificatesMax = 1_000;

interface Use {
  readonly pem: string;
  /** Those that can be read. */
  readonly certificates: readonly X509Certificate[];
}

export class CertificateExpiry implements CertificateUses, Component {
  readonly name = "certificate-expiry";
  readonly #options: CertificateExpiryOptions;
  readonly #gauge: Gauge;
  readonly #uses = new Map<string, Use>();
  readonly #listeners: ((ending: EndingCertificate) => void)[] = [];
  #timer: Timer | undefined;

  constructor(options: CertificateExpiryOptions) {
    this.#options = options;
    this.#gauge = options.metrics.gauge(
      "certificate_expiry_timestamp_seconds",
      "When the first of the certificates in use for this ends, in seconds since 1970",
      ["use"],
    );
  }

  /** Calls `listener` with each certificate that is logged, from the next check on. */
  onEnding(listener: (ending: EndingCertificate) => void): void {
    this.#listeners.push(listener);
  }

  inUse(use: string, pem: string | undefined): void {
    if (this.#uses.get(use)?.pem === pem) return;
    if (pem === undefined) {
      this.#uses.delete(use);
      this.#gauge.set({ use }, 0);
      return;
    }
    const certificates = certificatesOf(pem);
    this.#uses.set(use, { pem, certificates });
    this.#gauge.set({ use }, firstEndMs(certificates) / 1_000);
    if (this.#timer !== undefined) this.#check(use, certificates);
  }

  /** Begins to check, with what is in use by then. */
  async start(): Promise<void> {
    this.#checkAll();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #checkAll(): void {
    this.#timer = this.#options.clock.setTimer(checkMs, () => this.#checkAll());
    for (const [use, { certificates }] of this.#uses) this.#check(use, certificates);
  }

  #check(use: string, certificates: readonly X509Certificate[]): void {
    const nowMs = this.#options.clock.epochMicros() / 1_000;
    for (const certificate of certificates) {
      const { validFromDate, validToDate } = certificate;
      const leftMs = validToDate.getTime() - nowMs;
      const wholeMs = validToDate.getTime() - validFromDate.getTime();
      if (leftMs > Math.min(warnedMs, wholeMs * warnedShare)) continue;
      const ending = { use, subject: subjectOf(certificate), expires: validToDate, hasExpired: leftMs <= 0 };
      this.#tell(ending, Math.floor(leftMs / dayMs));
    }
  }

  #tell(ending: EndingCertificate, daysLeft: number): void {
    const { logger } = this.#options;
    const { use, subject, expires } = ending;
    const fields = { use, subject, expires: expires.toISOString() };
    if (ending.hasExpired) logger.error("Certificate has expired", fields);
    else logger.warn("Certificate expires soon", { ...fields, daysLeft });
    for (const listener of this.#listeners) listener(ending);
  }
}

/** What is no certificate is the business of those who use it. */
function certificatesOf(pem: string): readonly X509Certificate[] {
  try {
    return readCertificates(pem).slice(0, certificatesMax);
  } catch {
    return [];
  }
}

/** 0 = there is none. */
function firstEndMs(certificates: readonly X509Certificate[]): number {
  const ends = certificates.map(({ validToDate }) => validToDate.getTime());
  return ends.length === 0 ? 0 : Math.min(...ends);
}
