/** A Component that serves one app over HTTP, HTTPS or both, as the flags say. */
import { type ServerConfig } from "../config/config.ts";
import { type Component } from "../lifecycle/component.ts";
import { type CertificateUses } from "../util/certificate-use.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type SuppliedCertificate } from "./certificate.ts";
import { type ClientAuth } from "./client-auth.ts";
import { type ConnectionLimits } from "./connections.ts";
import { listen, type ListenOptions, type Listener } from "./listen.ts";

/** The limits are those of each listener. */
export interface ServerOptions extends ConnectionLimits {
  readonly name: string;
  readonly config: ServerConfig;
  readonly fetch: ListenOptions["fetch"];
  /** Which clients the HTTPS listener serves; undefined = all. */
  readonly clientAuth?: ClientAuth | undefined;
  /** Serves this over HTTPS in place of the files of the configuration. */
  readonly supplied?: SuppliedCertificate["supplied"] | undefined;
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
  const { config, clientAuth, supplied, ...common } = options;
  const { readHeaderTimeoutMs } = config;
  const auth = clientAuth && { clientAuth };
  /** The open ones; empty before the start and after the stop. */
  const listeners: Listener[] = [];
  return {
    name: options.name,
    async start() {
      const { http, https } = config;
      if (http.enable) listeners.push(await listen({ ...common, ...http, readHeaderTimeoutMs }));
      if (!https.enable) return;
      const source = supplied ? { supplied } : { certFile: https.certFile, keyFile: https.keyFile };
      const tls = { ...source, ...auth };
      listeners.push(await listen({ ...common, ...https, readHeaderTimeoutMs, tls }));
    },
    disableKeepAlive() {
      for (const listener of listeners) listener.disableKeepAlive();
    },
    async stop() {
      await Promise.all(listeners.splice(0).map((listener) => listener.close(options.graceMs)));
    },
  };
}
