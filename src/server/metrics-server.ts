/** The routes of the metrics server: the same text on every path, as upstream's. */
import { Hono } from "hono";
import { type MetricsRegistry } from "../observability/metrics.ts";

export function createMetricsApp(metrics: MetricsRegistry): Hono {
  const app = new Hono();
  app.all("*", async (context) => {
    const { contentType, text } = await metrics.expose();
    return context.body(text, 200, { "Content-Type": contentType });
  });
  return app;
}
