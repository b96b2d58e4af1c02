/**
 * Writes protobuf for tests and benchmarks: fields as bytes, messages as their concatenation, and the objects that the
 * product reads.
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { mediaType } from "../../../../src/kube/protobuf/index.ts";

export { mediaType };

type Value = string | number | bigint | Buffer;

/** A varint: a bigint or integer of 64 bits, negative ones in two's complement. */
export function varint(value: number | bigint): Buffer {
  if (typeof value === "number" && value >= 0 && value < 0x80) return Buffer.of(value);
  return Buffer.from(new BinaryWriter().uint64(BigInt.asUintN(64, BigInt(value))).finish());
}

/** A number as varint; a text, or bytes (a message too), with its length. */
export function field(number: number, value: Value): Buffer {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const tag = varint(number * 8 + (isNumber ? WireType.Varint : WireType.LengthDelimited));
  if (isNumber) return Buffer.concat([tag, varint(value)]);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([tag, varint(bytes.length), bytes]);
}

export function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

/** A metav1.Time. */
export function time(text: string): Buffer {
  return field(1, Date.parse(text) / 1000);
}

/** A map entry. */
export function entry(key: string, value: string): Buffer {
  return message(field(1, key), field(2, value));
}

/** "k8s\0" and a runtime.Unknown of this kind. */
export function envelope(kind: string, raw: Buffer, apiVersion = "v1"): Buffer {
  const type = message(field(1, apiVersion), field(2, kind));
  // The server writes these two empty fields.
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw), field(3, ""), field(4, "")]);
}

export function watchEvent(type: string, object: Buffer): Buffer {
  return message(field(1, type), field(2, field(1, object)));
}

/** A frame of a watch. */
export function frame(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export interface PodFields {
  readonly name: string;
  readonly version: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managers?: readonly string[];
  readonly managedFieldsV1?: string;
  readonly conditionTypes?: readonly string[];
  readonly spec?: Buffer;
}

const createdAt = time("2026-01-02T03:04:05Z");
const managedAt = time("2026-01-02T03:04:09Z");

/** A running Pod without its envelope, with something in fields that nobody reads. */
export function pod(fields: PodFields): Buffer {
  const { managers = ["kubelet"], managedFieldsV1 = "{}", spec = field(10, "node-0") } = fields;
  const { conditionTypes = ["PodScheduled", "Initialized", "ContainersReady", "Ready"] } = fields;
  const map = (number: number, entries: Readonly<Record<string, string>> = {}): Buffer[] =>
    Object.entries(entries).map(([key, value]) => field(number, entry(key, value)));
  const managed = (manager: string): Buffer =>
    message(
      field(1, manager),
      field(2, "Update"),
      field(3, "v1"),
      field(4, managedAt),
      field(6, "FieldsV1"),
      field(7, field(1, managedFieldsV1)),
    );
  const metadata = message(
    field(1, fields.name),
    field(2, ""),
    field(3, fields.namespace ?? "ns"),
    field(5, fields.uid ?? `uid-${fields.name}`),
    field(6, fields.version),
    field(7, 3),
    field(8, createdAt),
    ...map(11, fields.labels),
    ...map(12, fields.annotations),
    field(13, message(field(1, "ReplicaSet"), field(3, "owner"))),
    ...managers.map((manager) => field(17, managed(manager))),
  );
  const condition = (type: string): Buffer =>
    message(field(1, type), field(2, "True"), field(3, ""), field(4, createdAt), field(5, ""), field(6, ""));
  const conditions = conditionTypes.map((type) => field(2, condition(type)));
  const status = message(field(1, "Running"), ...conditions, field(5, "10.0.0.1"));
  return message(field(1, metadata), field(2, spec), field(3, status));
}

/** A PodList without its envelope. */
export function podList(version: string, continueToken: string, pods: readonly Buffer[]): Buffer {
  const metadata = message(field(1, ""), field(2, version), field(3, continueToken));
  return message(field(1, metadata), ...pods.map((one) => field(2, one)));
}

/** A Pod that only says how far the watch has come. */
export function bookmark(version: string, initialEventsEnd: boolean): Buffer {
  const mark = initialEventsEnd ? [field(12, entry("k8s.io/initial-events-end", "true"))] : [];
  return envelope("Pod", message(field(1, message(field(1, ""), field(6, version), ...mark))));
}
