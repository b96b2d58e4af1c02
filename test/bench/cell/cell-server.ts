/**
 * A child process of the benchmark: the API server of a cell. It answers for pods from memory, as bytes of protobuf,
 * and passes everything else on to an API double. Arguments: number of pods, URL of the double. Its parent asks it for
 * events by messages.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request as passOn, type ServerResponse } from "node:http";
import { bookmark, envelope, frame, mediaType, podList, watchEvent } from "../../unit/kube/protobuf/writer.ts";
import { listenOnLoopback, tellParent } from "../processes/child.ts";
import { Churn, listVersion, podBytes } from "./cell-shape.ts";

export type CellOrder =
  /** Events of rolling updates to all watches. */
  | { readonly do: "churn"; readonly rounds: number }
  /** A listed pod is deleted. */
  | { readonly do: "remove"; readonly pod: number };

const podsCount = Number(process.argv[2]);
const double = process.argv[3] ?? "";
/** Pods that are written at once. */
const podsOfWrite = 500;

const churn = new Churn(podsCount);
const watches = new Set<ServerResponse>();

async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (!response.destroyed && !response.write(bytes)) await once(response, "drain");
}

async function startWatch(response: ServerResponse, isInitial: boolean): Promise<void> {
  response.writeHead(200, { "content-type": `${mediaType};stream=watch` });
  response.flushHeaders();
  if (isInitial) await writeAll(response);
  watches.add(response);
  response.on("close", () => watches.delete(response));
}

async function writeAll(response: ServerResponse): Promise<void> {
  for (let first = 0; first < podsCount; first += podsOfWrite)
    await write(response, podBytes("event", first, Math.min(podsOfWrite, podsCount - first)));
  await write(response, frame(watchEvent("BOOKMARK", bookmark(String(listVersion), true))));
}

/** What a barrier asks for: any answer with the version. */
function barrier(): Buffer {
  return envelope("PodList", podList(String(churn.version), "", []));
}

function passThrough(request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  const passed = passOn(new URL(request.url ?? "/", double), { method: method ?? "GET", headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://server");
  if (url.pathname !== "/api/v1/pods" || request.method !== "GET") return passThrough(request, response);
  if (url.searchParams.get("watch") === "true")
    return void startWatch(response, url.searchParams.get("sendInitialEvents") === "true");
  response.writeHead(200, { "content-type": mediaType }).end(barrier());
});

async function carryOut(order: CellOrder): Promise<void> {
  for (const bytes of order.do === "churn" ? rounds(order.rounds) : [churn.gone(order.pod)])
    await Promise.all([...watches].map((response) => write(response, bytes)));
}

function* rounds(count: number): Iterable<Buffer> {
  for (let round = 0; round < count; round += 1) yield churn.round();
}

process.on("message", (order: CellOrder) => void carryOut(order).then(() => process.send?.("done")));
tellParent(`http://127.0.0.1:${await listenOnLoopback(server)}`);
