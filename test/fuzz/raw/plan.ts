/** What one connection does: decided by seed and number alone, before it is opened. */

/** Of the two webhook processes: "mutual" asks for client certificates, which forbids plain HTTP beside it. */
export type ListenerName = "http" | "https" | "mutual" | "health" | "metrics" | "healthTLS" | "metricsTLS";

export const listenerNames: readonly ListenerName[] = [
  "http",
  "https",
  "mutual",
  "health",
  "metrics",
  "healthTLS",
  "metricsTLS",
];

/** Bytes that are sent after a pause. */
export interface Piece {
  readonly bytes: Buffer;
  readonly pauseMs: number;
}

/**
 * How it ends once all is sent:
 * - `answers`: when every request has its answer;
 * - `halfClose`: the writing side at once, the rest when the server has ended;
 * - `leave`, `reset`: after `lingerMs`, with FIN or RST;
 * - `unread`: as `reset`, and nothing is read before.
 */
export type Ending = "answers" | "halfClose" | "leave" | "reset" | "unread";

/**
 * What must come of one request when all before it are well-formed:
 * - `allowed`: the review, allowed, with its UID;
 * - `decided`: the review, either way, with its UID;
 * - `refused`: an answer that allows nothing;
 * - `answered`: one answer;
 * - `anything`: it is damaged, so it and what follows may be answered, cut off or taken for something else.
 */
export type Expectation = "allowed" | "decided" | "refused" | "answered" | "anything";

export interface RequestItem {
  readonly expects: Expectation;
  readonly method: string;
  /** "" = it has none. */
  readonly uid: string;
  /** As the application sees it, without framing. */
  readonly body: string;
  /** It asks itself that its connection ends. */
  readonly closes: boolean;
}

export type ClientCertificate = "none" | "valid" | "foreign" | "expired";

/** What happens to the encrypted bytes below a handshake that this side means honestly. */
export interface Tampering {
  /** Bytes that pass before it happens. */
  readonly afterBytes: number;
  readonly how: "cut" | "flip" | "inject" | "dribble";
  readonly injected: Buffer;
}

export interface TLSUse {
  readonly client: ClientCertificate;
  readonly version: "TLSv1.2" | "TLSv1.3";
  readonly protocols: readonly string[];
  readonly renegotiates: boolean;
  readonly tampering: Tampering | undefined;
}

export interface ConnectionPlan {
  readonly index: number;
  /** What is sent: "whole", "flood", or how it is damaged. */
  readonly kind: string;
  readonly listener: ListenerName;
  /** Where it comes from; all on loopback. */
  readonly address: string;
  /** Undefined = `pieces` go onto the wire as they are. */
  readonly tls: TLSUse | undefined;
  readonly pieces: readonly Piece[];
  readonly requests: readonly RequestItem[];
  readonly ending: Ending;
  readonly lingerMs: number;
}

export const isTLS = (listener: ListenerName): boolean =>
  listener === "https" || listener === "mutual" || listener === "healthTLS" || listener === "metricsTLS";

export const servesReviews = (listener: ListenerName): boolean =>
  listener === "http" || listener === "https" || listener === "mutual";

/** Bytes of whatever kind go to a listener that expects a handshake. */
export const lacksHandshake = ({ listener, tls }: Pick<ConnectionPlan, "listener" | "tls">): boolean =>
  isTLS(listener) && tls === undefined;

/** Whether its handshake succeeds, if it has one, and its client is served. */
export function isServed(plan: Pick<ConnectionPlan, "listener" | "tls">): boolean {
  const { listener, tls } = plan;
  if (tls === undefined) return !lacksHandshake(plan);
  if (tls.protocols.length > 0 && !tls.protocols.includes("http/1.1")) return false;
  const isUndisturbed = tls.tampering === undefined && !tls.renegotiates;
  return isUndisturbed && (listener !== "mutual" || tls.client === "valid");
}

/** Whether something is asked, and all of it is well-formed. */
export const isWhole = ({ requests }: Pick<ConnectionPlan, "requests">): boolean =>
  requests.length > 0 && requests.every(({ expects }) => expects !== "anything");

/** Everything it sends. */
export const bytesOf = ({ pieces }: ConnectionPlan): Buffer => Buffer.concat(pieces.map(({ bytes }) => bytes));

/** Longer than this it is slow, and must not hold up the others. */
const slowMs = 500;

/** What it takes by itself, when everything is answered at once. */
export const pausesMs = ({ pieces, lingerMs }: ConnectionPlan): number =>
  pieces.reduce((sum, { pauseMs }) => sum + pauseMs, lingerMs);

export const isSlow = (plan: ConnectionPlan): boolean => pausesMs(plan) > slowMs;

/** What is remarkable about it, as words: for the tally, and for people. */
export function traitsOf(plan: ConnectionPlan): readonly string[] {
  const { kind, listener, pieces, requests, ending, tls } = plan;
  return [
    kind,
    `to ${listener}`,
    ending,
    ...(pieces.length > 1 ? ["in fragments"] : []),
    ...(requests.length > 1 ? ["pipelined"] : []),
    ...(isSlow(plan) ? ["slow"] : []),
    ...(tls === undefined ? [] : [tls.version, `client certificate ${tls.client}`]),
    ...(tls?.renegotiates === true ? ["renegotiation"] : []),
    ...(tls?.tampering === undefined ? [] : [`TLS ${tls.tampering.how}`]),
  ];
}
