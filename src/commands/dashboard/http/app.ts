/** The routes of the page: itself, its updates, and the explanation of one pod. Nothing can be changed over them. */
import { Hono } from "hono";
import { type Page } from "../page-files.ts";
import { type Access, guard } from "./access.ts";
import { type ExplainPod, type PodAnswer } from "../explain-pod.ts";
import { type EventsOptions, sendEvents } from "./events.ts";

export interface AppOptions extends EventsOptions {
  readonly access: Pick<Access, "token" | "code" | "port">;
  readonly page: Page;
  readonly explain: ExplainPod;
}

/** Browsers show a few tabs; each holds a connection. */
const streamsMax = 20;
/** Of a phone, and of a wide screen. */
const columnsMin = 36;
const columnsMax = 100;
/** Names of pods have at most 253 characters, those of cells fewer. */
const nameLengthMax = 253;

export function createApp({ access, page, explain, ...events }: AppOptions): Hono {
  const app = new Hono();
  let streams = 0;
  app.use(guard({ ...access, styleHash: page.styleHash, scriptHash: page.scriptHash }));
  app.get("/", (context) => context.html(page.html));
  app.get("/events", (context) => {
    if (streams >= streamsMax) return context.text("Too many pages are open.\n", 503);
    streams++;
    return sendEvents(context, events, () => streams--);
  });
  app.get("/explain", async (context) => {
    const { req } = context;
    const part = (name: string): string => (req.query(name) ?? "").trim().slice(0, nameLengthMax);
    const columns = Math.min(columnsMax, Math.max(columnsMin, Math.floor(Number(part("columns"))) || columnsMin));
    const question = { cell: part("cell"), namespace: part("namespace"), pod: part("pod"), columns };
    if (question.namespace === "" || question.pod === "")
      return context.json({ problem: "Give the namespace and the name of the pod." } satisfies PodAnswer);
    return context.json(await explain(question, req.raw.signal));
  });
  app.notFound((context) => context.text("404 page not found\n", 404));
  return app;
}
