/**
 * Credentials of one cluster, kept fresh. Files are read again when they may have been rotated. Everything is loaded
 * again after a 401, or when the server's certificate is not trusted.
 */
import { createHash } from "node:crypto";
import { type ConnectionOptions, createSecureContext } from "node:tls";
import { type Clock, longAgo, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type ClusterConfig } from "../../config/clusters.ts";
import { type CredentialPlugin, type Environment, type PluginCredential } from "./exec-plugin.ts";
import { loadKubeConfig, startErrorOf, type Impersonation, type LoadedKubeConfig } from "./kube-config.ts";
import { StartError } from "../../lifecycle/component.ts";
import { readCertificates } from "../../util/pem-certificates.ts";
import { readRegularFile } from "../../util/regular-file.ts";

export type HeaderValues = Readonly<Record<string, string | readonly string[]>>;

export interface Credentials {
  /** URL of the API server without a trailing slash. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  readonly tls: TlsMaterial;
  /** Equal for two credentials that need no new connections. */
  readonly connectionKey: string;
  readonly headers: HeaderValues;
  readonly loadedAtMs: MonotonicMs;
}

export interface CredentialSource {
  /**
   * The credentials, read again when they are older than 10 s. Keeps the last good ones when that fails or takes longer
   * than 1 s.
   */
  current(): Credentials | Promise<Credentials>;
  /**
   * `rejected` were answered with 401, or do not trust the server: loads everything again. False when that failed, or
   * was done a moment ago, so that a retry would fail too.
   */
  refresh(rejected: Credentials): Promise<boolean>;
}

/**
 * A kubelet replaces a ServiceAccount token at 80 % of its lifetime (48 min of an hour), so 10 s late is no risk;
 * reading costs microseconds.
 */
const rereadAfterMs = 10_000;
/** A caller without rights must not cause the kubeconfig to be read and the exec plugin to run for each request. */
const refreshIntervalMs = 1_000;
/** An exec plugin that asks a cloud answers in a second or two; one that needs longer than a request may take hangs. */
const loadTimeoutMs = 30_000;
/**
 * How long requests wait for new credentials while there are old ones. Plugins report an end a little before the true
 * one, so going on is better than letting the reviews that wait for a status write (4 s) fail.
 */
const patienceMs = 1_000;
/** API servers read headers of up to 1 MB. */
const tokenBytesMax = 1024 * 1024;

/** Loud, because nothing else shows it before it is used. */
const unverified =
  "insecure-skip-tls-verify: whoever stands between can answer as the API server, and gets this account's token; " +
  "give the cluster entry of the kubeconfig certificate-authority-data instead";

export interface CredentialDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment?: Environment;
  /** Called with the client certificate of the kubeconfig whenever it was read. */
  readonly onClientCertificate?: (pem: string) => void;
}

/**
 * Loads the credentials once. Throws a StartError that names the file or the plugin when that fails or takes longer
 * than 30 s.
 */
export async function createCredentialSource(
  config: ClusterConfig,
  deps: CredentialDeps,
  inClusterRoot = "",
): Promise<CredentialSource> {
  const { clock, logger, environment = {} } = deps;
  let loaded = loadKubeConfig(config, environment, inClusterRoot);
  if (loaded.cluster.skipTLSVerify) logger.warn(unverified, { origin: loaded.origin, server: loaded.server });
  let credentials = await read(loaded, deps);
  let running: Reload | undefined;
  let refreshedAtMs = longAgo;

  async function load(whole: boolean): Promise<void> {
    try {
      const next = whole ? loadKubeConfig(config, environment, inClusterRoot) : loaded;
      credentials = await read(next, deps);
      loaded = next;
    } catch (error) {
      logger.warn("Failed to reload credentials, keeping the old ones", { err: error });
      credentials = { ...credentials, loadedAtMs: clock.monotonicMs() };
    }
  }

  /** One load at a time for all requests that ask for it. */
  function reload(whole: boolean): Reload {
    if (running !== undefined) return running;
    const over = new AbortController();
    // `finally` comes after the assignment below, also when the load fails at once.
    const ended = load(whole).finally(() => {
      running = undefined;
      over.abort();
    });
    running = { ended, endedOrSlow: Promise.race([ended, sleep(clock, patienceMs, over.signal)]) };
    return running;
  }

  return {
    current() {
      // No promise where none is needed: this is on the way of every request.
      if (clock.monotonicMs() - credentials.loadedAtMs < rereadAfterMs) return credentials;
      return reload(false).endedOrSlow.then(() => credentials);
    },
    async refresh(rejected) {
      // Another request may have asked for it already.
      await running?.ended;
      if (rejected.headers === credentials.headers && clock.monotonicMs() - refreshedAtMs >= refreshIntervalMs) {
        refreshedAtMs = clock.monotonicMs();
        await reload(true).ended;
      }
      return rejected.headers !== credentials.headers;
    },
  };
}

interface Reload {
  readonly ended: Promise<void>;
  /** Resolves `patienceMs` after the beginning at the latest. */
  readonly endedOrSlow: Promise<void>;
}

async function read(loaded: LoadedKubeConfig, deps: CredentialDeps): Promise<Credentials> {
  const { clock } = deps;
  let tls: TlsMaterial;
  let authorization: string | undefined;
  try {
    const credential = loaded.plugin === undefined ? {} : await askInTime(loaded.plugin, clock);
    tls = readTlsMaterial(loaded, credential);
    authorization = authorizationOf(loaded, credential);
  } catch (error) {
    throw startErrorOf(loaded.origin, error);
  }
  checkTlsMaterial(tls, loaded.origin);
  // A plugin renews its certificates by itself, every hour perhaps.
  if (loaded.plugin === undefined && tls.cert !== undefined) deps.onClientCertificate?.(tls.cert);
  const headers: Record<string, string | readonly string[]> = impersonationHeaders(loaded.impersonation);
  if (authorization !== undefined) headers["authorization"] = authorization;
  const { server, proxyUrl } = loaded;
  const connectionKey = createHash("sha256")
    .update(JSON.stringify([server, proxyUrl, tls]))
    .digest("base64");
  return { server, proxyUrl, tls, connectionKey, headers, loadedAtMs: clock.monotonicMs() };
}

/** What the plugin says, which may run a command or ask a server. */
async function askInTime(plugin: CredentialPlugin, clock: Clock): Promise<PluginCredential> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = clock.setTimer(loadTimeoutMs, () => {
    const command = plugin.kill();
    const culprit = command === undefined ? "" : `: the credential plugin "${command}" does not end`;
    reject(new Error(`no credentials within ${loadTimeoutMs / 1000} s${culprit}`));
  });
  try {
    return await Promise.race([plugin.credential(clock.epochMicros() / 1000), timedOut]);
  } finally {
    timer.cancel();
  }
}

/** As client-go: a token file takes precedence over a token in the kubeconfig, and both over a password. */
function authorizationOf({ tokenFile, user }: LoadedKubeConfig, credential: PluginCredential): string | undefined {
  const token = tokenFile === undefined ? user.token || credential.token : readToken(tokenFile);
  if (token) return `Bearer ${token.trim()}`;
  return user.username ? `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}` : undefined;
}

function readToken(file: string): string {
  const token = readNamedFile("token file", file, tokenBytesMax).trim();
  if (token === "") throw new Error(`the token file "${file}" is empty`);
  return token;
}

function impersonationHeaders(impersonation: Impersonation | undefined): Record<string, string | readonly string[]> {
  if (impersonation === undefined) return {};
  return {
    "impersonate-user": impersonation.username,
    ...(impersonation.uid !== "" && { "impersonate-uid": impersonation.uid }),
    ...(impersonation.groups.length > 0 && { "impersonate-group": impersonation.groups }),
  };
}

/**
 * What a connection needs of TLS: certificates and keys out of a kubeconfig, or out of the files that it names. PEM
 * texts, under the names that Node's TLS gives them.
 */
export type TlsMaterial = Readonly<Partial<Record<"ca" | "cert" | "key", string>>> &
  Readonly<Pick<ConnectionOptions, "servername" | "rejectUnauthorized">>;

/** The certificates of all authorities that a system trusts have a quarter of that. */
const pemBytesMax = 1024 * 1024;

/** Reads the files again at each call. Throws an Error that names the file which cannot be read. */
function readTlsMaterial({ cluster, user }: LoadedKubeConfig, credential: PluginCredential): TlsMaterial {
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
function readNamedFile(what: string, file: string, bytesMax: number): string {
  try {
    return readRegularFile(file, bytesMax);
  } catch (error) {
    // An error of the system names the file by itself.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new Error(`the ${what} "${file}" cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** Unusable PEM would show only when a connection is made. Throws a StartError that says which part it is. */
function checkTlsMaterial({ ca, cert, key }: TlsMaterial, origin: string): void {
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
