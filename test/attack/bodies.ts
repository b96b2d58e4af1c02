/** What strangers send: whole requests, as bytes. */
import { deleteReview, evictReview, pod } from "../unit/webhook/support/objects.ts";

const megabyte = 1024 * 1024;
/** The largest body that is read at all. */
const largestBytes = 7 * megabyte;

/** The reviews that the legitimate load asks for are in this cell; here is nothing that says who asks. */
export const cell = "worker-a";

function post(body: string, path: string = cell, declaredBytes = Buffer.byteLength(body)): Buffer {
  const head = `POST /${path}?timeout=10s HTTP/1.1\r\nHost: webhook\r\nContent-Length: ${declaredBytes}\r\n\r\n`;
  return Buffer.from(head + body);
}

const forced = JSON.stringify(
  deleteReview(pod("x", { uid: "forged", annotations: { "podseidon.kubewharf.io/force-delete": "" } })),
);

/** Forged reviews that cost as much as possible: of the largest size, or with the most labels that are read. */
export function costlyReviews(): readonly Buffer[] {
  const room = largestBytes - forced.length - 200;
  const withObject = (object: string): Buffer => post(forced.replace('"object":null', `"object":${object}`));
  const many = (item: string): string => `[${`${item},`.repeat(Math.floor(room / (item.length + 1)) - 1)}0]`;
  const labels = Array.from({ length: 19_500 }, (_, index) => `"k${index}":""`).join(",");
  return [
    withObject("[".repeat(room / 2) + "]".repeat(room / 2)),
    withObject(many("[]")),
    withObject(many('{"a":0}')),
    post(forced.replace('"labels":{', `"labels":{${labels},`)),
  ];
}

/** The head of a review and all of its body but the last byte. */
export function unfinished(bytes: number): Buffer {
  return post(forced.padEnd(bytes - 1, " "), cell, bytes);
}

/** A review of an invented cell: `kind` of six, from whole to none at all. */
export function ofCell(name: string, kind: number): Buffer {
  const bodies = [forced, JSON.stringify(deleteReview(pod("x", { labels: {} }))), "{}", "nonsense", "", "[]"];
  return post(bodies[kind % bodies.length] ?? "", name);
}

/** The forged dry run of an eviction of a pod that is not there. */
export function eviction(number: number): Buffer {
  return post(JSON.stringify(evictReview(`nope-${number}`, {}, { dryRun: true })));
}
