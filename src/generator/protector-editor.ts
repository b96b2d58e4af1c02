/** Who has edited the spec of a generated PodProtector, by `metadata.managedFields`. Pure. */
import { type FieldWriter, laterWriter } from "../api/field-writers.ts";
import { asList, fieldsOf } from "../api/json.ts";
import { parseTime } from "../api/micro-time.ts";
import { annotations } from "../api/v1alpha1/names.ts";

/** Roles and commands write under names that begin so, unless --core-kube-user-agent says otherwise. */
const ownPrefix = "podseidon";

/**
 * The field manager that wrote one of these fields of the spec last; undefined = the generator itself, or unknown.
 * Whoever made the object has set the annotation "generated", too, and is no editor: a generator under another name, or
 * a tool that brought the object back from a backup. Never throws.
 */
export function readEditor(managedFields: unknown, fields: readonly string[]): string | undefined {
  let last: FieldWriter | undefined;
  const own = new Set<string>();
  for (const entry of asList(managedFields)) {
    const { manager, time, fieldsV1 } = fieldsOf(entry);
    if (typeof manager !== "string") continue;
    const { "f:spec": spec, "f:metadata": metadata } = fieldsOf(fieldsV1);
    if (`f:${annotations.generated}` in fieldsOf(fieldsOf(metadata)["f:annotations"])) own.add(manager);
    const written = fieldsOf(spec);
    if (fields.some((field) => `f:${field}` in written))
      last = laterWriter(last, { manager, subresource: undefined, time: parseTime(time) });
  }
  return last === undefined || last.manager.startsWith(ownPrefix) || own.has(last.manager) ? undefined : last.manager;
}
