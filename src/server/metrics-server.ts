/**
 * The routes of the metrics server: the same text on every path, as upstream's. Whoever asks while a scrape is under
 * way gets that one, since anyone may ask at any rate.
 */
import { Hono } from "hono";
import { type MetricsRegistry } from "../observability/metrics.ts";

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
  app.all("*", async (context) => {
    const { contentType, text } = await exposed();
    return context.body(text, 200, { "Content-Type": contentType });
  });
  return app;
}
