/**
 * What the webhook is compared with: the least that Node can do with a review, read it, parse all of it and allow it.
 * No routes, no limits, no deadline, no metrics. Fixed: a faster or slower one would move every figure that was ever
 * published.
 */
import http, { type RequestListener, type Server } from "node:http";
import https from "node:https";

/** Answers byte for byte what the webhook answers to a pod that no PodProtector selects. */
const answer: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { request: asked } = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
    const review = {
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v1",
      response: { uid: asked.uid, allowed: true },
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(review));
  });
};

/**
 * The ciphers of src/server/listen.ts, so that both encrypt alike: without them Node would choose AES-256, which costs
 * more.
 */
const ciphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");

/** Not listening yet; HTTPS when there is a certificate. */
export function createBareServer(tls: { readonly cert: string; readonly key: string } | undefined): Server {
  return tls === undefined
    ? http.createServer(answer)
    : https.createServer({ ...tls, minVersion: "TLSv1.2", ciphers }, answer);
}
