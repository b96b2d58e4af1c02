/** An HTTPS server in place of the webhook: it admits everything, asks nobody who he is, and says nothing of cells. */
import { once } from "node:events";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import { issueServerCertificate } from "../../../src/certificates/index.ts";
import { portOf } from "../clusters/ports.ts";
import { type CaseContext } from "../runner/runner.ts";

export interface StrangerWebhook {
  /** `https://127.0.0.1:<port>`. */
  readonly url: string;
  readonly caPem: string;
}

/** `days`, `agoDays`: of its certificate. It ends with the case. */
export async function startStranger(context: CaseContext, days: number, agoDays: number): Promise<StrangerWebhook> {
  const now = new Date(Date.now() - agoDays * 86_400_000);
  const issued = await issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days, now });
  const server = createServer({ cert: issued.certificate, key: issued.privateKey }, (request, response) => {
    void text(request).then((body) => {
      const review = body === "" ? {} : (JSON.parse(body) as { readonly request?: { readonly uid?: string } });
      const { uid } = review.request ?? {};
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ ...review, response: { uid, allowed: true } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.cleanup(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { url: `https://127.0.0.1:${portOf(server)}`, caPem: issued.caCertificate };
}
