/**
 * The routes of the page: itself, its updates, and the explanation of one pod. Nothing can be changed over them.
 *
 * Who may read the page. The kubeconfig's rights are its user's alone, and the listener is open to every program of
 * this machine, so:
 * - the URL holds a secret, which other users do not know. A browser that is started with a URL shows that to all users
 *   of the machine, so it gets one with another secret that leads here once;
 * - the header Host must name this listener, or a page of a stranger could read it once its own name leads here;
 * - nothing may be framed, loaded from elsewhere or sent on (docs/dashboard.md#security).
 *
 * Updates of one browser as server-sent events. What changes at once goes into one event, at most four a second, and
 * the next one is made only after the browser has taken the last: a slow one gets fewer, not more memory.
 *
 * The page as one file. Its sources are ES modules, a style sheet and a document in assets/dashboard, which browsers
 * could load as they are; joined, they need no second request.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { streamSSE } from "hono/streaming";
import { type Clock, sleep } from "../../../util/clock.ts";
import { readCarried } from "../../../carried/files.ts";
import { type State, states } from "../../fleet/standing.ts";
import { type ExplainPod, type PodAnswer } from "../explain-pod.ts";
import { type DashboardState } from "../model/dashboard-state.ts";
import { entriesDefault, View, type ViewQuery } from "../model/view.ts";

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

export interface Access {
  /** The secret of the URL. */
  readonly token: string;
  /** Leads to the page once, as /open/CODE; undefined = nobody is led there. */
  readonly code: string | undefined;
  /** Of the listener. */
  readonly port: () => number;
  /** Of the styles and scripts of the page, as "'sha256-…'". */
  readonly styleHash: string;
  readonly scriptHash: string;
}

/** Refuses whoever may not read, and sets the headers that keep the page to itself. */
export function guard({ token, code, port, styleHash, scriptHash }: Access): MiddlewareHandler {
  const policy = [
    "default-src 'none'",
    `style-src ${styleHash}`,
    `script-src ${scriptHash}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const headers = {
    "Content-Security-Policy": policy,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
  };
  let isCodeSpent = code === undefined;
  return async (context, next) => {
    const { req } = context;
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    if (![`127.0.0.1:${port()}`, `localhost:${port()}`].includes(req.header("Host") ?? ""))
      return context.text("This address does not serve that host.\n", 421);
    const site = req.header("Sec-Fetch-Site");
    if (site === "cross-site" || site === "same-site") return context.text("Not for other pages.\n", 403);
    if (!isCodeSpent && isSame(req.path, `/open/${code}`)) {
      isCodeSpent = true;
      return context.redirect(`/?token=${token}`);
    }
    if (!isSame(req.query("token"), token))
      return context.text("Open the whole URL that podseidon dashboard has printed.\n", 403);
    return next();
  };
}

/** In the same time, wherever they differ. */
function isSame(given: string | undefined, secret: string): boolean {
  const digest = (text: string): Buffer => Buffer.from(hash("sha256", text, "hex"));
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}

/** Four a second look like at once. */
const updateSpacingMs = 250;
/** A browser that hears nothing for three of these says that the connection is lost. */
export const beatMs = 10_000;
/** After this the browser tries again when the connection is lost. */
const retryMs = 1_000;
/** Longer searches are mistakes. */
const wordsLengthMax = 200;
/** More pages than a fleet has. */
const pageMax = 100_000;

export interface EventsOptions {
  readonly state: DashboardState;
  readonly clock: Clock;
  /** Tells this run of the program from others: what was sent by another is worth nothing. */
  readonly run: string;
  /** Aborts when the program ends. */
  readonly signal: AbortSignal;
}

/** Answers with updates of what the query asks for, the first one whole, until the browser or the program ends. */
export function sendEvents(context: Context, options: EventsOptions, onEnd: () => void): Response {
  const { state, clock, run, signal } = options;
  const view = new View(state, readQuery(context, run));
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const ended = AbortSignal.any([gone.signal, signal]);
    try {
      while (!ended.aborted) {
        const { version } = state;
        const nowMs = clock.epochMicros() / 1000;
        const data = JSON.stringify(view.update(nowMs) ?? { isWhole: false, nowMs });
        await stream.writeSSE({ event: "update", data, id: `${run}.${view.sentChange}`, retry: retryMs });
        await sleep(clock, updateSpacingMs, ended);
        await state.whenChanged(version, beatMs, ended);
      }
    } finally {
      onEnd();
    }
  });
}

function readQuery({ req }: Context, run: string): ViewQuery {
  const [ofRun, change] = (req.header("Last-Event-ID") ?? "").split(".");
  return {
    words: (req.query("words") ?? "").slice(0, wordsLengthMax),
    state: states.find((name): name is State => name === req.query("state")),
    page: numberOf(req.query("page"), 1, pageMax) ?? 1,
    entries: numberOf(req.query("entries"), 1, 500) ?? entriesDefault,
    entriesSince: (ofRun === run ? numberOf(change, 0, Number.MAX_SAFE_INTEGER) : undefined) ?? 0,
  };
}

function numberOf(text: string | undefined, least: number, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text ?? "") ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}

/** Each module after those that it imports. */
export const moduleNames = [
  "element.js",
  "words.js",
  "sparkline.js",
  "live.js",
  "rows.js",
  "parts.js",
  "explain.js",
  "main.js",
];

export interface Page {
  readonly html: string;
  /** "'sha256-…'", as a Content-Security-Policy names what may be in the page. */
  readonly styleHash: string;
  readonly scriptHash: string;
}

/** Throws when a file is missing: the program was not built as a whole. */
export function joinPage(read: (name: string) => string = readPageFile): Page {
  const style = read("page.css");
  const script = moduleNames.map((name) => asPart(read(name))).join("\n");
  // Functions as replacements: a "$" in a source is no pattern.
  const html = read("page.html")
    .replace("<!-- style -->", () => `<style>${style}</style>`)
    .replace("<!-- script -->", () => `<script type="module">${script}</script>`);
  return { html, styleHash: sourceHash(style), scriptHash: sourceHash(script) };
}

/** A module without its imports and exports: all of them are in one scope. */
function asPart(source: string): string {
  return source.replaceAll(/^import [^;]*;\n/gm, "").replaceAll(/^export /gm, "");
}

function sourceHash(source: string): string {
  return `'sha256-${hash("sha256", source, "base64")}'`;
}

function readPageFile(name: string): string {
  return readCarried(`assets/dashboard/${name}`);
}
