/** Who has edited the spec of a generated PodProtector, by `metadata.managedFields`. Pure. */
import { type FieldWriter, laterWriter, ownershipsOf } from "../../api/field-writers.ts";
import { fieldsOf } from "../../api/json.ts";
import { annotations } from "../../api/v1alpha1/names.ts";

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
  for (const { writer, spec, metadata } of ownershipsOf(managedFields)) {
    if (`f:${annotations.generated}` in fieldsOf(metadata["f:annotations"])) own.add(writer.manager);
    if (fields.some((field) => `f:${field}` in spec)) last = laterWriter(last, writer);
  }
  return last === undefined || last.manager.startsWith(ownPrefix) || own.has(last.manager) ? undefined : last.manager;
}
