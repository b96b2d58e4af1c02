/** The certificate that a replica of the webhook shows on a new connection. */
import { once } from "node:events";
import { connect } from "node:tls";
import { type ManifestPod } from "./manifest-pods.ts";

const handshakeLimitMs = 5_000;

/** Its fingerprint. */
export async function shownBy(webhook: ManifestPod): Promise<string> {
  // What is shown matters here; the API server is the one that verifies it.
  const socket = connect({ host: "127.0.0.1", port: webhook.ports["webhook"] ?? 0, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(handshakeLimitMs) });
    return socket.getPeerX509Certificate()?.fingerprint256 ?? "";
  } finally {
    socket.destroy();
  }
}
