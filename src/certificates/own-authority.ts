/**
 * Certificates with an authority of their own, whose key is never given out: a stolen key can impersonate its owner and
 * nobody else, and nobody can make another certificate that is trusted with it.
 */
import { createAuthority, signClientCertificate, signServerCertificate } from "./authority.ts";
import { type ServerNames, validityOfDays } from "./request.ts";

/** A certificate and the authority that signed it, all in PEM form. */
export interface IssuedCertificate {
  readonly caCertificate: string;
  readonly certificate: string;
  /** PKCS #8, not encrypted. */
  readonly privateKey: string;
}

interface Days {
  /** Days until it expires, at least 1. */
  readonly days: number;
  /** Start of validity. The certificate says an hour earlier, for callers whose clock is behind. */
  readonly now: Date;
}

interface ServerCertificateRequest extends ServerNames, Days {}

interface ClientCertificateRequest extends Days {
  /** The common name: 1 to 63 letters, digits and `-` `_` `.`, as of a cell. */
  readonly client: string;
}

/** Makes a new authority and a server certificate signed by it. Throws a CertificateRequestError for a bad request. */
export async function issueServerCertificate(request: ServerCertificateRequest): Promise<IssuedCertificate> {
  const validity = validityOfDays(request.days, request.now);
  const authority = await createAuthority("podseidon-webhook-ca", validity);
  return {
    caCertificate: authority.certificate,
    ...(await signServerCertificate(authority, request, validity)),
  };
}

/** Makes a new authority and a client certificate signed by it. Throws a CertificateRequestError for a bad request. */
export async function issueClientCertificate(request: ClientCertificateRequest): Promise<IssuedCertificate> {
  const validity = validityOfDays(request.days, request.now);
  const authority = await createAuthority("podseidon-webhook-client-ca", validity);
  return {
    caCertificate: authority.certificate,
    ...(await signClientCertificate(authority, request.client, validity)),
  };
}
