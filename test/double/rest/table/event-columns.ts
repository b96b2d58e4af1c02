/** The columns of an Event: when, how bad, why, to what, and in which words. */
import { type KubeObject, asNumber, asObject, asString } from "../../engine/object.ts";
import { type Cell, type Column, column } from "./column.ts";
import { ageOf } from "./human-duration.ts";

function objectText({ involvedObject }: KubeObject): string {
  const { kind, name } = asObject(involvedObject);
  return `${(asString(kind) ?? "").toLowerCase()}/${asString(name) ?? ""}`;
}

function sourceText({ source, reportingComponent }: KubeObject): string {
  const { component, host } = asObject(source);
  const known = asString(component) ?? asString(reportingComponent) ?? "";
  return typeof host === "string" && host !== "" ? `${known}, ${host}` : known;
}

function seen(field: "firstTimestamp" | "lastTimestamp"): Cell {
  return (event, nowMs) => ageOf(event[field] ?? event["eventTime"], nowMs);
}

function text(field: string): Cell {
  return (event) => (asString(event[field]) ?? "").trim();
}

export const eventColumns: readonly Column[] = [
  column("Last Seen", "string", seen("lastTimestamp")),
  column("Type", "string", text("type")),
  column("Reason", "string", text("reason")),
  column("Object", "string", objectText),
  column("Subobject", "string", ({ involvedObject }) => asString(asObject(involvedObject)["fieldPath"]) ?? "", 1),
  column("Source", "string", sourceText, 1),
  column("Message", "string", text("message")),
  column("First Seen", "string", seen("firstTimestamp"), 1),
  column("Count", "string", ({ count }) => asNumber(count) ?? 1, 1),
  { ...column("Name", "string", ({ metadata }) => metadata.name, 1), format: "name" },
];
