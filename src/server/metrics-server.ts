/**
 * The routes of the metrics server: the same text on every path, as upstream's. Only a browser that opens `/` is led
 * on: no scraper asks for text/html. Whoever asks while a scrape is under way gets that one, since anyone may ask at
 * any rate.
 */
import { Hono } from "hono";
import { type MetricsRegistry } from "../observability/metrics.ts";

const index = `<!doctype html><title>Podseidon: metrics</title><h1>Podseidon: metrics</h1>
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
    return context.html(index, 200, { Vary: "Accept" });
  });
  app.all("*", async (context) => {
    const { contentType, text } = await exposed();
    return context.body(text, 200, { "Content-Type": contentType });
  });
  return app;
}
