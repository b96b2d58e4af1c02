/**
 * Authorities, and the certificates that they sign. The only file that knows the library. Nothing is read or written:
 * the caller gives the validity, and keeps what is made. All keys are ECDSA P-256: API servers open connections all
 * the time (docs/kubernetes.md#reviews), and with RSA each costs the webhook several times as much.
 */
import "reflect-metadata"; // @peculiar/x509 needs it before its own import
import * as x509 from "@peculiar/x509";
import { webcrypto } from "node:crypto";
import { checkClientName, checkServerNames, type ServerNames, type Validity } from "./request.ts";

/** A certificate and its key in PEM form. */
export interface KeyPair {
  readonly certificate: string;
  /** PKCS #8, not encrypted. */
  readonly privateKey: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Makes an authority with a new key. `name` is its common name. */
export async function createAuthority(name: string, validity: Validity): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      keys,
      signingAlgorithm: algorithm,
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return keyPair(certificate, keys.privateKey);
}

/** A certificate of a server with a new key, signed by `authority`. Throws a CertificateRequestError for bad names. */
export function signServerCertificate(authority: KeyPair, names: ServerNames, validity: Validity): Promise<KeyPair> {
  checkServerNames(names);
  const alternatives = [
    ...names.dnsNames.map((value) => ({ type: "dns" as const, value })),
    ...names.ipAddresses.map((value) => ({ type: "ip" as const, value })),
  ];
  return sign(authority, validity, {
    subject: "podseidon-webhook",
    usage: x509.ExtendedKeyUsage.serverAuth,
    extensions: [new x509.SubjectAlternativeNameExtension(alternatives)],
  });
}

/** A certificate of a client with a new key, signed by `authority`. Throws a CertificateRequestError for a bad name. */
export function signClientCertificate(authority: KeyPair, client: string, validity: Validity): Promise<KeyPair> {
  checkClientName(client);
  return sign(authority, validity, { subject: client, usage: x509.ExtendedKeyUsage.clientAuth, extensions: [] });
}

interface Leaf {
  /** Common name. */
  readonly subject: string;
  readonly usage: x509.ExtendedKeyUsage;
  readonly extensions: readonly x509.Extension[];
}

async function sign(authority: KeyPair, validity: Validity, leaf: Leaf): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await webcrypto.subtle.importKey("pkcs8", derOf(authority.privateKey), algorithm, false, ["sign"]);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=${leaf.subject}`,
      issuer: issuer.subject,
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      notBefore: validity.notBefore,
      notAfter: validity.notAfter,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([leaf.usage]),
        ...leaf.extensions,
        // Authorities that follow each other have one name: by this OpenSSL finds the right one.
        await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, webcrypto),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return keyPair(certificate, keys.privateKey);
}

async function keyPair(certificate: x509.X509Certificate, privateKey: webcrypto.CryptoKey): Promise<KeyPair> {
  return {
    certificate: pem("CERTIFICATE", certificate.rawData),
    privateKey: pem("PRIVATE KEY", await webcrypto.subtle.exportKey("pkcs8", privateKey)),
  };
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Of the first block. */
const derOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(/-----BEGIN [^-]+-----([^-]*)/.exec(text)?.[1] ?? "", "base64"));
