/**
 * The webhook server of the suite: one HTTPS listener on loopback for all cases, which hands each review to the handler
 * of its namespace. The configurations that lead to it are made once per server, one per profile, and a namespace opts
 * into a profile by its label: a real API server needs about a second until a new configuration is in force.
 */
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { issueServerCertificate } from "../../src/certificates/index.ts";
import { type StatusDetails, type Thing } from "./thing.ts";

export interface ReviewRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string;
  readonly requestKind?: unknown;
  readonly requestResource?: unknown;
  readonly requestSubResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: string;
  readonly userInfo: { readonly username: string; readonly groups?: readonly string[] };
  readonly object: Thing | null;
  readonly oldObject: Thing | null;
  readonly dryRun: boolean;
  readonly options: Readonly<Record<string, unknown>> | null;
  /** The webhook that was called: the path of its URL. Not part of the review. */
  readonly profile: string;
  /** The query of the URL. Not part of the review. */
  readonly timeout: string | null;
}

export interface ReviewResponse {
  readonly allowed: boolean;
  readonly status?: {
    readonly code?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly details?: StatusDetails;
  };
  readonly warnings?: readonly string[];
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  /** Replaces the UID of the answer: a webhook that answers something else. */
  readonly uid?: string;
  /** Answers with this HTTP code instead of a review. */
  readonly httpCode?: number;
}

/** A handler of one namespace's reviews; may wait, as a slow webhook does. */
export type ReviewHandler = (request: ReviewRequest) => ReviewResponse | Promise<ReviewResponse>;

export interface WebhookServer {
  /** `https://127.0.0.1:<port>`; the path names the profile. */
  readonly url: string;
  /** Base64, for clientConfig.caBundle. */
  readonly caBundle: string;
  onReview(namespace: string, handler: ReviewHandler): void;
  close(): Promise<void>;
}

export async function startWebhookServer(): Promise<WebhookServer> {
  const issued = await issueServerCertificate({
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    days: 1,
    now: new Date(),
  });
  const handlers = new Map<string, ReviewHandler>();
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { request } = (await json(message)) as { readonly request: ReviewRequest };
    const url = new URL(message.url ?? "/", "https://webhook");
    const seen = { ...request, profile: url.pathname.slice(1), timeout: url.searchParams.get("timeout") };
    const handler = handlers.get(request.namespace ?? request.name ?? "");
    const { httpCode = 200, ...decision } = (await handler?.(seen)) ?? { allowed: true };
    response.writeHead(httpCode, { "content-type": "application/json" });
    const body = {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: request.uid, ...decision },
    };
    response.end(httpCode === 200 ? JSON.stringify(body) : "no");
  };
  const server = createServer({ cert: issued.certificate, key: issued.privateKey }, (message, response) => {
    // Whatever goes wrong here is what the API server must see: a webhook that breaks off.
    answer(message, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(issued.caCertificate).toString("base64"),
    onReview: (namespace, handler) => void handlers.set(namespace, handler),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** How a namespace's requests are reviewed; the value of its label. */
export type ReviewProfile =
  | "deletions" // what Podseidon's own configuration asks for
  | "writes" // every write of configmaps and pods' status as well
  | "labelled" // only objects with the label reviewed=true
  | "twice" // by two webhooks
  | "slow-fail" // after one second a webhook that has not answered counts as failed, and the request is refused
  | "slow-ignore" // the same, and the request goes on
  | "unreachable-fail"
  | "unreachable-ignore";

export const profileLabel = "conformance.podseidon.test/reviews";
const configurationName = "conformance.podseidon.test";

const pods = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };
const deletions = [
  { ...pods, operations: ["DELETE"], resources: ["pods"] },
  { ...pods, operations: ["CREATE"], resources: ["pods/eviction"] },
];
const writes = [
  ...deletions,
  { ...pods, operations: ["CREATE", "UPDATE", "DELETE"], resources: ["configmaps"] },
  { ...pods, operations: ["UPDATE"], resources: ["pods/status"] },
];
/** A port that nobody may bind without privileges and that nobody serves. */
const unreachableUrl = "https://127.0.0.1:1";

/** A webhook of a configuration, called for the namespaces with the label of `profile`. */
function webhookFor(
  server: { readonly url: string; readonly caBundle: string },
  profile: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name: `${profile}.conformance.podseidon.test`,
    clientConfig: { url: `${server.url}/${profile}`, caBundle: server.caBundle },
    rules: deletions,
    namespaceSelector: { matchLabels: { [profileLabel]: profile } },
    sideEffects: "NoneOnDryRun",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 10,
    failurePolicy: "Fail",
    ...more,
  };
}

/** The configuration of all profiles. */
export function reviewConfiguration(server: { readonly url: string; readonly caBundle: string }): unknown {
  const of = (profile: ReviewProfile, more?: Readonly<Record<string, unknown>>): unknown =>
    webhookFor(server, profile, more);
  const unreachable = { ...server, url: unreachableUrl };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: configurationName },
    webhooks: [
      of("deletions"),
      of("writes", { rules: writes }),
      of("labelled", { objectSelector: { matchLabels: { reviewed: "true" } } }),
      of("twice"),
      of("twice", {
        name: "again.conformance.podseidon.test",
        clientConfig: { url: `${server.url}/again`, caBundle: server.caBundle },
      }),
      of("slow-fail", { timeoutSeconds: 1 }),
      of("slow-ignore", { timeoutSeconds: 1, failurePolicy: "Ignore" }),
      webhookFor(unreachable, "unreachable-fail"),
      webhookFor(unreachable, "unreachable-ignore", { failurePolicy: "Ignore" }),
    ],
  };
}
