/**
 * The routes of the health server. /readyz runs every registered check. /livez and /healthz only prove that the process
 * responds: a broken API server must take a replica out of service, but restarting the replica would not help.
 */
import { Hono, type Context } from "hono";
import { type HealthAnswer, type HealthRegistry } from "../observability/health.ts";

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
  app.get("/", (context) => respond(context, { status: 200, text: index }));
  app.notFound((context) => context.text("404 page not found\n", 404));
  return app;
}

/** For people who open the port, and do not know the paths. */
const index = `Podseidon: health
/readyz           whether this replica serves; 500 names the checks that fail
/readyz?verbose   all checks, and why they fail
/readyz/NAME      one check
/livez, /healthz  whether the process responds
`;

function respond(context: Context, { status, text }: HealthAnswer): Response {
  return context.text(text, status, { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
}
