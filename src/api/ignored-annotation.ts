import { printable } from "../util/printable.ts";

/** An annotation that a person wrote and nobody can read, so that it counts as absent. */
export interface IgnoredAnnotation {
  readonly annotation: string;
  readonly value: string;
  /** What may stand there, for people. */
  readonly allowed: string;
}

/** Of a value in a message: more than any that is allowed has. */
const shownMax = 64;

/**
 * For an Event or a condition, without a full stop. JSON leaves in what a terminal obeys: control characters above
 * ASCII, and those that turn the direction of what is read.
 */
export function ignoredAnnotationText({ annotation, value, allowed }: IgnoredAnnotation): string {
  const shown = value.length > shownMax ? `${value.slice(0, shownMax)}…` : value;
  return `Ignoring the annotation ${annotation}=${printable(JSON.stringify(shown))}: it must be ${allowed}`;
}
