/** Answers as meta.k8s.io/v1 Tables: what `kubectl get` asks for, so that the server decides on the columns. */
import { type JsonObject, type KubeObject, asObject } from "../../engine/object.ts";
import { type ResourceType } from "../../engine/resources.ts";
import { badRequest } from "../../engine/status.ts";
import { type WatchEvent, type WatchSink } from "../../engine/requests/watch.ts";
import { type Column } from "./column.ts";
import { columnsOf } from "./columns.ts";

const apiVersion = "meta.k8s.io/v1";

/** What a row shows of its object besides the cells: the parameter `includeObject`. */
type IncludeObject = "None" | "Metadata" | "Object";

function includeObjectOf(query: URLSearchParams): IncludeObject {
  const wanted = query.get("includeObject") ?? "";
  if (wanted === "") return "Metadata";
  if (wanted === "None" || wanted === "Metadata" || wanted === "Object") return wanted;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(wanted)}`);
}

export class TableFormat {
  readonly #columns: readonly Column[];
  readonly #include: IncludeObject;
  readonly #nowMs: () => number;

  /** Throws 400, and 501 for columns that the double cannot fill. */
  constructor(type: ResourceType, query: URLSearchParams, nowMs: () => number) {
    this.#columns = columnsOf(type);
    this.#include = includeObjectOf(query);
    this.#nowMs = nowMs;
  }

  /** A list, or one object with its own metadata. */
  table(objects: readonly KubeObject[], metadata: JsonObject): JsonObject {
    return this.#tableOf(this.#definitions(), objects, metadata);
  }

  /** Events whose objects become tables of one row; only the first names the columns. */
  sink(sink: WatchSink): WatchSink {
    let isFirst = true;
    return {
      onEvent: (event: WatchEvent) => {
        if (event.type === "ERROR") return sink.onEvent(event);
        const object = event.object as KubeObject;
        const { resourceVersion } = object.metadata;
        const columns = isFirst ? this.#definitions() : null;
        isFirst = false;
        const table = this.#tableOf(columns, [object], { resourceVersion });
        sink.onEvent({ type: event.type, object: table as KubeObject });
      },
      onEnd: () => sink.onEnd(),
    };
  }

  #definitions(): readonly JsonObject[] {
    return this.#columns.map(({ name, type, format, description, priority }) => ({
      name,
      type,
      format,
      description,
      priority,
    }));
  }

  #tableOf(
    columnDefinitions: readonly JsonObject[] | null,
    objects: readonly KubeObject[],
    metadata: JsonObject,
  ): JsonObject {
    return { kind: "Table", apiVersion, metadata, columnDefinitions, rows: objects.map((object) => this.#row(object)) };
  }

  #row(object: KubeObject): JsonObject {
    const nowMs = this.#nowMs();
    const cells = this.#columns.map(({ cell }) => cell(object, nowMs));
    if (this.#include === "None") return { cells, object: null };
    const { metadata } = object;
    return { cells, object: this.#include === "Object" ? object : partialMetadata(asObject(metadata)) };
  }
}

function partialMetadata(metadata: JsonObject): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion, metadata };
}
