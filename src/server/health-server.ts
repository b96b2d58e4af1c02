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
  app.notFound((context) => context.text("404 page not found\n", 404));
  return app;
}

function respond(context: Context, { status, text }: HealthAnswer): Response {
  return context.text(text, status, { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
}
