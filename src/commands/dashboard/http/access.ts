/**
 * Who may read the page. The kubeconfig's rights are its user's alone, and the listener is open to every program of
 * this machine, so:
 * - the URL holds a secret, which other users do not know. A browser that is started with a URL shows that to all users
 *   of the machine, so it gets one with another secret that leads here once;
 * - the header Host must name this listener, or a page of a stranger could read it once its own name leads here;
 * - nothing may be framed, loaded from elsewhere or sent on (docs/dashboard.md#security).
 */
import { timingSafeEqual, hash } from "node:crypto";
import { type MiddlewareHandler } from "hono";

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
