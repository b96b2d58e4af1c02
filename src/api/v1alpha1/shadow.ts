/** Whether a PodProtector is in shadow: judged and recorded as ever, and refusing nothing (docs/generator.md#modes). */
import { fieldsOf } from "../json.ts";
import { annotations } from "./names.ts";

/** By its metadata, valid or not. Any other value than "shadow" is in force. Never throws. */
export function isInShadow(metadata: unknown): boolean {
  return fieldsOf(fieldsOf(metadata)["annotations"])[annotations.mode] === "shadow";
}
