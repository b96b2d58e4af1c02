/**
 * The connections of one cluster: one pool for requests and one for watches. Rotated TLS material means new ones.
 */
import { Agent, ProxyAgent, type Dispatcher } from "undici";
import { type Credentials } from "./credentials.ts";

/** kube-apiserver reads up to 16 of our requests at once; more would only queue in its fair queuing. */
const requestSockets = 16;
/**
 * The API server closes idle connections after 90 s; a third of that avoids sending into a closing one. Undici's
 * default of 4 s would reconnect all the time.
 */
const keepAliveTimeoutMs = 30_000;
/** TCP probes find a dead peer; load balancers drop idle connections after 60 s or more. */
const tcpProbeDelayMs = 30_000;
/** Longer than any handshake on a working network; three attempts fit into a request's default deadline of 30 s. */
const connectTimeoutMs = 10_000;

/** What carries the requests, and what carries the watches, to the server of some credentials. */
export interface Dispatchers {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** Sockets in production; the simulation supplies its own network. */
export type CreateDispatchers = (credentials: Credentials) => Dispatchers;

interface Target extends Dispatchers {
  /**
   * Scheme, host and port of the server, and what its URL has before the paths of the API: parsed once, not for each
   * request.
   */
  readonly origin: string;
  readonly pathPrefix: string;
}

export interface Connections {
  /** For requests and for streams, valid for these credentials. */
  of(credentials: Credentials): Target;
  /** Breaks everything off. */
  destroy(): Promise<void>;
}

export function createConnections(
  onCloseError: (error: unknown) => void,
  createDispatchers: CreateDispatchers = openSockets,
): Connections {
  let open: (Target & { readonly key: string }) | undefined;
  return {
    of(credentials) {
      if (open?.key === credentials.connectionKey) return open;
      // What runs on the old connections may finish: close() waits for it.
      if (open !== undefined) Promise.all([open.requests.close(), open.streams.close()]).catch(onCloseError);
      const { origin, pathname } = new URL(credentials.server);
      open = {
        key: credentials.connectionKey,
        origin,
        pathPrefix: pathname.replace(/\/$/, ""),
        ...createDispatchers(credentials),
      };
      return open;
    },
    async destroy() {
      await Promise.all([open?.requests.destroy(), open?.streams.destroy()]);
    },
  };
}

function openSockets(credentials: Credentials): Dispatchers {
  return {
    requests: createDispatcher(credentials, { connections: requestSockets }),
    // Each watch holds its own connection for minutes; their number is that of the informers. None is used again (that
    // is what no pipelining means): the next watch may reach another replica, so a replica in trouble does not keep its
    // watchers.
    streams: createDispatcher(credentials, { connections: null, pipelining: 0 }),
  };
}

function createDispatcher(
  credentials: Credentials,
  pool: { readonly connections: number | null; readonly pipelining?: number },
): Dispatcher {
  const { tls, proxyUrl } = credentials;
  const connect = { keepAlive: true, keepAliveInitialDelay: tcpProbeDelayMs, timeout: connectTimeoutMs };
  const options = {
    // One HTTP/2 connection for all is slower (measured: 16,900 against 24,100 requests/s), and one lost packet stalls
    // every request.
    allowH2: false,
    ...pool,
    keepAliveTimeout: keepAliveTimeoutMs,
    // The deadlines are ours, on the injected clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  return proxyUrl === undefined
    ? new Agent({ ...options, connect: { ...connect, ...tls } })
    : new ProxyAgent({ ...options, uri: proxyUrl, requestTls: { ...connect, ...tls } });
}
