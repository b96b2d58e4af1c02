/**
 * A child process of the benchmark: an API server on loopback that knows 100,000 pods and nothing else. Below /pages it
 * knows no WatchList.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { bookmark, envelope, frame, mediaType, podList, watchEvent } from "../../unit/kube/protobuf/writer.ts";
import { listenOnLoopback, tellParent } from "../processes/child.ts";
import { createTemplate, type Encoding, fill, type Template } from "./pod-template.ts";

const podsCount = Number(process.argv[2]);
const listVersion = "2000000";
/** Events that are written at once. */
const eventsPerWrite = 500;

const templates: Readonly<Record<Encoding, { readonly item: Template; readonly event: Template }>> = {
  json: { item: createTemplate("json", "item"), event: createTemplate("json", "event") },
  protobuf: { item: createTemplate("protobuf", "item"), event: createTemplate("protobuf", "event") },
};

function page(encoding: Encoding, first: number, limit: number): Buffer {
  const count = Math.min(limit, podsCount - first);
  const items = fill(templates[encoding].item, first, count);
  const next = first + count < podsCount ? String(first + count) : "";
  if (encoding === "protobuf") {
    return envelope("PodList", Buffer.concat([podList(listVersion, next, []), items]));
  }
  const head = { kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: listVersion, continue: next } };
  // Without the comma of the last item.
  const list = items.subarray(0, -1);
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`), list, Buffer.from("]}")]);
}

async function stream(response: ServerResponse, encoding: Encoding): Promise<void> {
  for (let first = 0; first < podsCount; first += eventsPerWrite) {
    const events = fill(templates[encoding].event, first, Math.min(eventsPerWrite, podsCount - first));
    if (!response.write(events)) await once(response, "drain");
  }
  const annotations = { "k8s.io/initial-events-end": "true" };
  const metadata = { resourceVersion: listVersion, annotations };
  // Left open: the watch goes on.
  response.write(
    encoding === "protobuf"
      ? frame(watchEvent("BOOKMARK", bookmark(listVersion, true)))
      : `${JSON.stringify({ type: "BOOKMARK", object: { kind: "Pod", apiVersion: "v1", metadata } })}\n`,
  );
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://server");
  const encoding = request.headers.accept?.includes(mediaType) === true ? "protobuf" : "json";
  const contentType = encoding === "protobuf" ? mediaType : "application/json";
  if (url.searchParams.get("watch") === "true" && url.pathname.startsWith("/pages")) {
    response.writeHead(400, { "content-type": "application/json" }).end('{"kind":"Status","code":400}');
  } else if (url.searchParams.get("watch") === "true") {
    response.writeHead(200, { "content-type": `${contentType};stream=watch` });
    void stream(response, encoding);
  } else {
    const body = page(encoding, Number(url.searchParams.get("continue")), Number(url.searchParams.get("limit")));
    response.writeHead(200, { "content-type": contentType }).end(body);
  }
});
const podBytes = { json: templates.json.item.bytes.length - 1, protobuf: templates.protobuf.item.bytes.length };
tellParent({ port: await listenOnLoopback(server), podBytes });
