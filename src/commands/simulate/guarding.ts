/**
 * PodProtectors as a simulation takes them: decoded as the webhook decodes them, with what is in force of an invalid
 * one. The door for objects of a core.
 */
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { type ObjectKey, type ProtectorID, protectorID } from "../../api/object-key.ts";
import { type LabelSelector, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { decodeWatched, type ProtectorView, viewOf } from "../../webhook/protector/protector-view.ts";
import { outlineOf } from "../../webhook/protector/unusable-protector.ts";
import { printable } from "../../util/printable.ts";

/** A PodProtector that is in force. */
export interface Guarding {
  readonly core: string;
  readonly id: ProtectorID;
  readonly key: ObjectKey;
  readonly uid: string;
  /** It is asked about pods that this selects. */
  readonly selector: LabelSelector;
  /** It refuses nothing. */
  readonly isShadow: boolean;
  readonly state:
    | { readonly kind: "valid"; readonly view: ProtectorView }
    /** It admits nothing. `reason` for people. */
    | { readonly kind: "unusable"; readonly reason: string };
}

/** Undefined for what is released, and for what is no object at all. Never throws. */
export function readGuarding(core: string, raw: unknown): Guarding | undefined {
  const watched = decodeWatched(raw);
  if (watched === undefined) return undefined;
  const { key, uid, content } = watched;
  const common = { core, id: protectorID(core, key), key, uid };
  const read = content.ok ? viewOf(content.stored, undefined) : content;
  if (read.ok) {
    const { view } = read;
    if (view.isReleased) return undefined;
    const { isShadow } = view;
    return { ...common, isShadow, selector: countingSelector(view.protector.spec), state: { kind: "valid", view } };
  }
  const { marks, selector, isShadow } = outlineOf(raw);
  if (marks.isReleased) return undefined;
  return { ...common, isShadow, selector, state: { kind: "unusable", reason: printable(read.reason) } };
}

/** The same with another object in place of a valid one: of the same UID, with a status that can be judged by. */
export function withObject(view: ProtectorView, protector: PodProtector): ProtectorView {
  const read = viewOf({ ...view, protector }, view);
  return read.ok ? read.view : view;
}
