/** A Component that serves one app over HTTP, HTTPS or both, as the flags say. */
import { type ServerConfig } from "../config/config.ts";
import { type Component } from "../lifecycle/component.ts";
import { type CertificateUses } from "../util/certificate-use.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type ClientAuth } from "./client-auth.ts";
import { listen, type ListenOptions, type Listener } from "./listen.ts";

export interface ServerOptions {
  readonly name: string;
  readonly config: ServerConfig;
  readonly fetch: ListenOptions["fetch"];
  /** Which clients the HTTPS listener serves; undefined = all. */
  readonly clientAuth?: ClientAuth | undefined;
  /** Per listener. */
  readonly connectionsMax: number;
  /** How long requests in flight may take after the stop. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told which certificates are in use. */
  readonly certificates?: CertificateUses | undefined;
}

export interface ServerComponent extends Component {
  /** From now on every response closes its connection; see Listener. */
  disableKeepAlive(): void;
}

export function createServer(options: ServerOptions): ServerComponent {
  const { name, config, fetch, clientAuth, connectionsMax, clock, logger, certificates } = options;
  const auth = clientAuth && { clientAuth };
  const { readHeaderTimeoutMs } = config;
  const common = { name, fetch, connectionsMax, clock, logger, certificates, readHeaderTimeoutMs };
  /** The open ones; empty before the start and after the stop. */
  const listeners: Listener[] = [];
  return {
    name,
    async start() {
      if (config.http.enable) listeners.push(await listen({ ...common, ...config.http }));
      const { certFile, keyFile } = config.https;
      if (config.https.enable)
        listeners.push(await listen({ ...common, ...config.https, tls: { certFile, keyFile, ...auth } }));
    },
    disableKeepAlive() {
      for (const listener of listeners) listener.disableKeepAlive();
    },
    async stop() {
      await Promise.all(listeners.splice(0).map((listener) => listener.close(options.graceMs)));
    },
  };
}
