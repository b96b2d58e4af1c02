/**
 * What a webhook shows to a client that has no certificate: its own certificate, judged by the authorities that its API
 * server trusts, and whether it answers at all. The request is a GET, which no webhook takes for a review.
 */
import { request } from "node:https";
import { type TLSSocket } from "node:tls";
import { messageOf } from "../../../util/printable.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type Reading, type ServedFacts } from "../facts.ts";
import { type Reader, readMs } from "./deadline.ts";

/** `caBundle`: PEM; "" = what this machine trusts. Never rejects. */
export function readServed(url: string, caBundle: string, { clock, signal }: Reader): Promise<Reading<ServedFacts>> {
  return new Promise((resolve) => {
    let shown: Omit<ServedFacts, "status"> | undefined;
    // It may fail before there is a request.
    const open: { ask?: ReturnType<typeof request> | undefined } = {};
    const end = (answer: Reading<ServedFacts>): void => {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      open.ask?.destroy();
      resolve(answer);
    };
    // A webhook that ends the connection instead of answering has shown its certificate before.
    const failed = (why: string): void =>
      end(
        shown === undefined
          ? { ok: false, why: `it cannot be reached from here (${why})` }
          : { ok: true, value: { ...shown, status: undefined } },
      );
    const timer = clock.setTimer(readMs, () => failed(`no answer within ${readMs / 1_000} s`));
    const stop = (): void => failed("stopped");
    signal.addEventListener("abort", stop, { once: true });
    const ask = attempt(url, caBundle, (why) => failed(why));
    open.ask = ask;
    ask?.on("socket", (socket) => {
      socket.once("secureConnect", () => void (shown = shownBy(socket as TLSSocket)));
    });
    ask?.on("response", (response) => {
      response.resume();
      shown ??= shownBy(response.socket as TLSSocket);
      if (shown === undefined) failed("it shows no certificate");
      else end({ ok: true, value: { ...shown, status: response.statusCode } });
    });
    ask?.on("error", (error) => failed(messageOf(error)));
    ask?.end();
  });
}

/** An address or authorities that cannot be used are told at once. */
function attempt(url: string, caBundle: string, failed: (why: string) => void): ReturnType<typeof request> | undefined {
  try {
    const ca = caBundle === "" ? {} : { ca: caBundle };
    // It is judged below, and what it is must be seen even if it is bad.
    return request(url, { method: "GET", agent: false, rejectUnauthorized: false, ...ca });
  } catch (error) {
    failed(messageOf(error));
    return undefined;
  }
}

function shownBy(socket: TLSSocket): Omit<ServedFacts, "status"> | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { authorized, authorizationError } = socket;
  return {
    distrust: authorized ? undefined : messageOf(authorizationError),
    validFrom: microsOf(certificate.validFromDate),
    validTo: microsOf(certificate.validToDate),
  };
}

function microsOf(date: Date): EpochMicros {
  return (date.getTime() * 1_000) as EpochMicros;
}
