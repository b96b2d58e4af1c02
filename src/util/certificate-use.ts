/**
 * The contract by which whoever uses a certificate says so, that its end can be told in time. observability/ implements
 * it.
 */
export interface CertificateUses {
  /**
   * From now on these certificates (PEM, one after the other) are in use for `use`, in place of those before; undefined
   * = none are. `use` is one of a few: a listener, a cluster of the settings. Cheap to call again with the same text.
   */
  inUse(use: string, pem: string | undefined): void;
}

/** A certificate that ends within days, or has ended. */
export interface EndingCertificate {
  readonly use: string;
  /** Its distinguished name in one line; whoever made the certificate chose it. */
  readonly subject: string;
  readonly expires: Date;
  readonly hasExpired: boolean;
}
