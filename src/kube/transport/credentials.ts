/**
 * Credentials of one cluster, kept fresh: files are read again when they may have been rotated, and everything is
 * loaded anew after a 401, or when the server's certificate is not trusted.
 */
import { createHash, X509Certificate } from "node:crypto";
import { type RequestOptions } from "node:https";
import { createSecureContext } from "node:tls";
import { StartError } from "../../lifecycle/component.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { readRegularFile } from "../../util/regular-file.ts";
import type { ClusterConfig } from "../../config/config.ts";
import { loadKubeConfig, startErrorOf, type Impersonation, type LoadedKubeConfig } from "./kube-config.ts";

export type HeaderValues = Readonly<Record<string, string | readonly string[]>>;

export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  /** URL of the API server without a trailing slash. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  readonly tls: TlsMaterial;
  /** Equal for two credentials that need no new connections. */
  readonly connectionKey: string;
  readonly headers: HeaderValues;
  readonly loadedAtMs: number;
}

export interface CredentialSource {
  /**
   * The credentials, read again when they are older than 10 s. Keeps the last good ones when that fails or takes longer
   * than 1 s.
   */
  current(): Credentials | Promise<Credentials>;
  /**
   * `rejected` were answered with 401, or do not make us trust the server: loads everything anew. False when that
   * failed or was done a moment ago, so that a retry has no prospect.
   */
  refresh(rejected: Credentials): Promise<boolean>;
}

/**
 * A kubelet writes a new ServiceAccount token at 80 % of its life (48 min of an hour), so 10 s late is no risk; reading
 * costs microseconds.
 */
const rereadAfterMs = 10_000;
/** Somebody without rights must not make us read the kubeconfig and run the exec plugin at each request. */
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

/**
 * Loads the credentials once. Throws a StartError that names the file or the plugin when that fails or takes longer
 * than 30 s.
 */
export async function createCredentialSource(
  config: ClusterConfig,
  deps: { readonly clock: Clock; readonly logger: Logger },
  inClusterRoot = "",
): Promise<CredentialSource> {
  const { clock, logger } = deps;
  let loaded = loadKubeConfig(config, inClusterRoot);
  let credentials = await read(loaded, clock);
  let running: Reload | undefined;
  let lastRefreshMs = Number.NEGATIVE_INFINITY;

  async function load(whole: boolean): Promise<void> {
    try {
      const next = whole ? loadKubeConfig(config, inClusterRoot) : loaded;
      credentials = await read(next, clock);
      loaded = next;
    } catch (error) {
      logger.warn("Cannot read the credentials again, going on with the old ones", { err: error });
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
      if (rejected.headers === credentials.headers && clock.monotonicMs() - lastRefreshMs >= refreshIntervalMs) {
        lastRefreshMs = clock.monotonicMs();
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

async function read(loaded: LoadedKubeConfig, clock: Clock): Promise<Credentials> {
  const options: RequestOptions & TlsMaterial = {};
  let token: string | undefined;
  try {
    await applyInTime(loaded, options, clock);
    if (loaded.tokenFile !== undefined) token = readToken(loaded.tokenFile);
  } catch (error) {
    throw startErrorOf(loaded.origin, error);
  }
  const tls = tlsOf(options);
  checkTls(tls, loaded.origin);
  const headers: Record<string, string | readonly string[]> = impersonationHeaders(loaded.impersonation);
  const authorization = token === undefined ? authorizationOf(options) : `Bearer ${token}`;
  if (authorization !== undefined) headers["authorization"] = authorization;
  const { server, proxyUrl } = loaded;
  const connectionKey = createHash("sha256")
    .update(JSON.stringify([server, proxyUrl, tls]))
    .digest("base64");
  return { server, proxyUrl, tls, connectionKey, headers, loadedAtMs: clock.monotonicMs() };
}

/** client-node's own part, which may run a plugin or ask a server. */
async function applyInTime(loaded: LoadedKubeConfig, options: RequestOptions, clock: Clock): Promise<void> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = clock.setTimer(loadTimeoutMs, () => {
    const command = loaded.plugin.kill();
    const culprit = command === undefined ? "" : `: the credential plugin "${command}" does not end`;
    reject(new Error(`no credentials within ${loadTimeoutMs / 1000} s${culprit}`));
  });
  try {
    await Promise.race([loaded.kubeConfig.applyToHTTPSOptions(options), timedOut]);
  } finally {
    timer.cancel();
  }
}

function readToken(file: string): string {
  let token: string;
  try {
    token = readRegularFile(file, tokenBytesMax).trim();
  } catch (error) {
    // An error of the system names the file by itself.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new Error(`the token file "${file}" cannot be used: ${(error as Error).message}`, { cause: error });
  }
  if (token === "") throw new Error(`the token file "${file}" is empty`);
  return token;
}

function tlsOf(options: TlsMaterial): TlsMaterial {
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
}

/** Unusable PEM would show only when a connection is made; we want to know now, and which part it is. */
function checkTls(tls: TlsMaterial, origin: string): void {
  const attempt = (what: string, material: TlsMaterial): void => {
    try {
      createSecureContext(material);
      // OpenSSL skips a CA that it cannot read, and then trusts nobody.
      if (material.ca !== undefined) void new X509Certificate(material.ca);
    } catch (error) {
      throw new StartError(`${origin}: ${what} cannot be used: ${(error as Error).message}`, { cause: error });
    }
  };
  if (tls.ca !== undefined) attempt("the certificate authority", { ca: tls.ca });
  if (tls.cert !== undefined) attempt("the client certificate", { cert: tls.cert });
  if (tls.key !== undefined) attempt("the client key", { key: tls.key });
  if (tls.cert !== undefined && tls.key !== undefined) {
    attempt("the pair of client certificate and client key", { cert: tls.cert, key: tls.key });
  }
}

function authorizationOf(options: RequestOptions): string | undefined {
  const headers = options.headers as Readonly<Record<string, unknown>> | undefined;
  const bearer = headers?.["Authorization"];
  // A token file read by client-node ends with a line break, which is no header value.
  if (typeof bearer === "string") return bearer.trim();
  return typeof options.auth === "string" ? `Basic ${Buffer.from(options.auth).toString("base64")}` : undefined;
}

function impersonationHeaders(impersonation: Impersonation | undefined): Record<string, string | readonly string[]> {
  if (impersonation === undefined) return {};
  return {
    "impersonate-user": impersonation.username,
    ...(impersonation.uid !== "" && { "impersonate-uid": impersonation.uid }),
    ...(impersonation.groups.length > 0 && { "impersonate-group": impersonation.groups }),
  };
}
