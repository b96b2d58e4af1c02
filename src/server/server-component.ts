/**
 * A Component that serves one app over HTTP, HTTPS or both, as the flags say; and the apps that every process serves:
 * health, metrics and profiles.
 */
import { Hono, type Context } from "hono";
import { type ServerConfig } from "../config/config.ts";
import { type Component } from "../lifecycle/component.ts";
import { type CertificateUses } from "../util/certificate-use.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type SuppliedCertificate } from "./certificate.ts";
import { type ClientAuth } from "./client-auth.ts";
import { type ConnectionLimits } from "./connections.ts";
import { listen, type ListenOptions, type Listener } from "./listen.ts";
import { type HealthAnswer, type HealthRegistry } from "../observability/health.ts";
import { type MetricsRegistry } from "../observability/metrics.ts";
import { cpuSecondsDefault, cpuSecondsMax, type Profile, type Profiler } from "../observability/profiler.ts";

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

/**
 * The routes of the health server. /readyz runs every registered check. /livez and /healthz only prove that the process
 * responds: a broken API server must take a replica out of service, but restarting the replica would not help.
 */
export function createHealthApp(readiness: HealthRegistry, liveness: HealthRegistry): Hono {
  const app = new Hono();
  const routes = { "/readyz": readiness, "/healthz": liveness, "/livez": liveness };
  for (const [path, registry] of Object.entries(routes)) {
    app.all(path, (context) => {
      const isVerbose = context.req.query("verbose") !== undefined;
      return respond(context, registry.answerAll({ isVerbose, excluded: context.req.queries("exclude") ?? [] }));
    });
    app.all(`${path}/*`, (context) => respond(context, registry.answerOne(context.req.path.slice(path.length + 1))));
  }
  app.get("/", (context) => respond(context, { status: 200, text: healthIndex }));
  app.notFound((context) => context.text("404 page not found\n", 404));
  return app;
}

/** For people who open the port, and do not know the paths. */
const healthIndex = `Podseidon: health
/readyz           whether this replica serves; 500 names the checks that fail
/readyz?verbose   all checks, and why they fail
/readyz/NAME      one check
/livez, /healthz  whether the process responds
`;

function respond(context: Context, { status, text }: HealthAnswer): Response {
  return context.text(text, status, { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
}

/**
 * The routes of the metrics server: the same text on every path, as upstream's. Only a browser that opens `/` is led
 * on: no scraper asks for text/html. Whoever asks while a scrape is under way gets that one, since anyone may ask at
 * any rate.
 */
const metricsIndex = `<!doctype html><title>Podseidon: metrics</title><h1>Podseidon: metrics</h1>
<p><a href="/metrics">/metrics</a>, in the format of Prometheus. docs/metrics.md says what each is good for.</p>
`;

export function createMetricsApp(metrics: MetricsRegistry): Hono {
  const app = new Hono();
  let scrape: ReturnType<MetricsRegistry["expose"]> | undefined;
  const exposed = async (): ReturnType<MetricsRegistry["expose"]> => {
    try {
      return await (scrape ??= metrics.expose());
    } finally {
      scrape = undefined;
    }
  };
  app.get("/", async (context, next) => {
    if (context.req.header("accept")?.includes("text/html") !== true) return next();
    return context.html(metricsIndex, 200, { Vary: "Accept" });
  });
  app.all("*", async (context) => {
    const { contentType, text } = await exposed();
    return context.body(text, 200, { "Content-Type": contentType });
  });
  return app;
}

/**
 * The routes of the profiles, at the paths of Go's net/http/pprof. What is sent are Node's own formats, which the
 * developer tools of browsers and speedscope read.
 */
const profilesIndex = `Profiles of this process:
/debug/pprof/profile?seconds=${cpuSecondsDefault}  CPU, for 1 to ${cpuSecondsMax} seconds: save it as x.cpuprofile
/debug/pprof/heap                live objects by where they were allocated: save it as x.heapprofile
Open the files in the developer tools of a browser (Performance, Memory), or in speedscope.
`;

export function createProfilesApp(profiler: Pick<Profiler, "cpu" | "heap">): Hono {
  const app = new Hono();
  app.get("/debug/pprof/", (context) => context.text(profilesIndex));
  app.get("/debug/pprof/profile", async (context) => {
    const text = context.req.query("seconds") ?? String(cpuSecondsDefault);
    const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (seconds < 1 || seconds > cpuSecondsMax)
      return context.text(`seconds: ${JSON.stringify(text)} is invalid; allowed: 1 to ${cpuSecondsMax}\n`, 400);
    return answer(context, await profiler.cpu(seconds, context.req.raw.signal), "profile.cpuprofile");
  });
  app.get("/debug/pprof/heap", async (context) => answer(context, await profiler.heap(), "heap.heapprofile"));
  app.notFound((context) => context.text(`404 page not found\n${profilesIndex}`, 404));
  return app;
}

function answer(context: Context, profile: Profile, file: string): Response {
  context.header("X-Content-Type-Options", "nosniff");
  context.header("Cache-Control", "no-store");
  switch (profile.kind) {
    case "profile":
      return context.body(profile.text, 200, {
        "Content-Type": "application/json",
        "Content-Disposition": `attachment; filename="${file}"`,
      });
    case "busy": {
      const seconds = Math.max(1, Math.ceil(profile.retryAfterMs / 1000));
      return context.text(`${profile.reason}; try again in ${seconds} s\n`, 429, { "Retry-After": String(seconds) });
    }
    case "tooLarge":
      return context.text(`the profile has ${profile.bytes} bytes, which is too much; ask for fewer seconds\n`, 500);
    default:
      return profile satisfies never;
  }
}
