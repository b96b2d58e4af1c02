/** What a connection needs of TLS: certificates and keys out of a kubeconfig, or out of the files that it names. */
import { type ConnectionOptions, createSecureContext } from "node:tls";
import { StartError } from "../../lifecycle/component.ts";
import { readCertificates } from "../../util/pem-certificates.ts";
import { readRegularFile } from "../../util/regular-file.ts";
import { type PluginCredential } from "./exec-plugin.ts";
import { type LoadedKubeConfig } from "./kube-config.ts";

/** PEM texts, under the names that Node's TLS gives them. */
export type TlsMaterial = Readonly<Partial<Record<"ca" | "cert" | "key", string>>> &
  Readonly<Pick<ConnectionOptions, "servername" | "rejectUnauthorized">>;

/** The certificates of all authorities that a system trusts have a quarter of that. */
const pemBytesMax = 1024 * 1024;

/** Reads the files again at each call. Throws an Error that names the file which cannot be read. */
export function readTlsMaterial({ cluster, user }: LoadedKubeConfig, credential: PluginCredential): TlsMaterial {
  const ca = pemOf(cluster.caFile, cluster.caData);
  const cert = credential.cert ?? pemOf(user.certFile, user.certData);
  const key = credential.key ?? pemOf(user.keyFile, user.keyData);
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(cluster.tlsServerName && { servername: cluster.tlsServerName }),
    ...(cluster.skipTLSVerify && { rejectUnauthorized: false }),
  };
}

/** A kubeconfig gives a PEM text as a file, or itself in base64; the file takes precedence. */
function pemOf(file: string | undefined, data: string | undefined): string | undefined {
  if (file) return readNamedFile("file", file, pemBytesMax);
  return data ? Buffer.from(data, "base64").toString() : undefined;
}

/** Throws an Error that names the file and says what it is for. */
export function readNamedFile(what: string, file: string, bytesMax: number): string {
  try {
    return readRegularFile(file, bytesMax);
  } catch (error) {
    // An error of the system names the file by itself.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new Error(`the ${what} "${file}" cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** Unusable PEM would show only when a connection is made. Throws a StartError that says which part it is. */
export function checkTlsMaterial({ ca, cert, key }: TlsMaterial, origin: string): void {
  const attempt = (what: string, material: TlsMaterial): void => {
    try {
      createSecureContext(material);
      // OpenSSL skips a CA that it cannot read, and all behind it.
      if (material.ca !== undefined && readCertificates(material.ca).length === 0) throw new Error("no certificate");
    } catch (error) {
      throw new StartError(`${origin}: ${what} cannot be used: ${(error as Error).message}`, { cause: error });
    }
  };
  if (ca !== undefined) attempt("the certificate authority", { ca });
  if (cert !== undefined) attempt("the client certificate", { cert });
  if (key !== undefined) attempt("the client key", { key });
  if (cert !== undefined && key !== undefined) {
    attempt("the pair of client certificate and client key", { cert, key });
  }
}
