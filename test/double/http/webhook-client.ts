/** Calls admission webhooks over HTTP and HTTPS, as the API server does. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type CallWebhook } from "../engine/admission.ts";
import { asObject, asString } from "../engine/object.ts";

// The server reads no more than this of a webhook's answer.
const answerBytesMax = 3 * 1024 * 1024;

/** The address of a service's port, for clientConfig.service; without it such webhooks cannot be called. */
export type ResolveService = (
  namespace: string,
  name: string,
  port: number,
) => { readonly host: string; readonly port: number };

function addressOf(
  clientConfig: unknown,
  resolveService: ResolveService | undefined,
): { url: URL; servername?: string } {
  const { url, service } = asObject(clientConfig);
  if (typeof url === "string") return { url: new URL(url) };
  const { namespace, name, path, port } = asObject(service);
  if (resolveService === undefined)
    throw new Error(`service "${String(namespace)}/${String(name)}" cannot be resolved`);
  const at = resolveService(String(namespace), String(name), typeof port === "number" ? port : 443);
  const servername = `${String(name)}.${String(namespace)}.svc`;
  return { url: new URL(`https://${at.host}:${at.port}${asString(path) ?? "/"}`), servername };
}

interface Post {
  readonly url: URL;
  readonly body: string;
  readonly timeoutMs: number;
  readonly ca: Buffer | undefined;
  readonly servername: string | undefined;
}

/** The other side closed an idle connection just as it was used again. */
class StaleConnectionError extends Error {}

/** The real server's words for an answer that is no 200. */
function explain(statusCode: number | undefined): string {
  if (statusCode === 404) return "the server could not find the requested resource";
  return 'an error on the server ("unknown") has prevented the request from succeeding';
}

async function post(call: Post): Promise<string> {
  const { url, body, timeoutMs, ca, servername } = call;
  return await new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      accept: "application/json, */*",
    };
    const options = {
      method: "POST",
      headers,
      signal: AbortSignal.timeout(timeoutMs),
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined ? {} : { servername }),
    };
    // Node's default agents keep connections alive, as the real server does.
    const outgoing = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) outgoing.destroy(new Error("the answer is too large"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else reject(new Error(explain(response.statusCode)));
      });
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "ECONNREFUSED" ? `dial tcp ${url.host}: connect: connection refused` : error.message;
      const message = `Post ${JSON.stringify(url.href)}: ${why}`;
      const stale = outgoing.reusedSocket && error.code === "ECONNRESET";
      reject(stale ? new StaleConnectionError(message) : new Error(message));
    });
    outgoing.end(body);
  });
}

/** Tries again once on a stale connection, as the real server's client does. */
async function postWithRetry(call: Post): Promise<string> {
  try {
    return await post(call);
  } catch (error) {
    if (error instanceof StaleConnectionError) return await post(call);
    throw error;
  }
}

/**
 * Creates the default implementation: `?timeout=Ns` in whole seconds, the caBundle of the configuration, connections
 * kept alive.
 */
export function createWebhookClient(resolveService?: ResolveService): CallWebhook {
  return async (webhook, review, timeoutMs) => {
    const clientConfig = asObject(webhook["clientConfig"]);
    const { url, servername } = addressOf(clientConfig, resolveService);
    url.searchParams.set("timeout", `${Math.ceil(timeoutMs / 1000)}s`);
    const caBundle = asString(clientConfig["caBundle"]);
    const ca = caBundle === undefined ? undefined : Buffer.from(caBundle, "base64");
    return JSON.parse(await postWithRetry({ url, body: JSON.stringify(review), timeoutMs, ca, servername })) as unknown;
  };
}
