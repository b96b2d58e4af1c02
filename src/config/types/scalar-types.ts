/** Value types that are one string: text, switches, numbers, durations, choices, label selectors. */
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { durationPattern, formatDuration, parseDurationMs } from "./duration.ts";
import { formatLabelSelector, parseLabelSelector } from "./label-selector.ts";
import { nearest } from "./nearest.ts";
import { accept, reject, scalar, type ValueType } from "./value-type.ts";

/** Longer values are mistakes (a whole file pasted in); a path has at most 4,096 characters on Linux. */
const textLengthMax = 4096;

/** Each as the value is read, and as the JSON Schema has it. */
const printablePattern = String.raw`^[^\u0000-\u001f\u007f]*$`;
const wholePattern = "^[+-]?(0|[1-9][0-9]{0,14})$";
const decimalPattern = String.raw`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`;

/** YAML takes 007 and true for other things than strings; the file is read so that they are what was written. */
const scalarTypes = ["string", "number", "boolean", "null"];

/** Any string without control characters. `problemOf` may refuse more; then `allowed` says what is left. */
export function text(
  placeholder: string,
  rule: { readonly allowed: string; problemOf(text: string): string | undefined } = {
    allowed: "any string",
    problemOf: () => undefined,
  },
): ValueType<string> {
  return scalar({
    kind: "string",
    placeholder,
    allowed: rule.allowed,
    schema: { type: scalarTypes, maxLength: textLengthMax, pattern: printablePattern },
    parseText(value) {
      if (value.length > textLengthMax) return reject(`is longer than ${textLengthMax} characters`);
      if (!new RegExp(printablePattern).test(value)) return reject("contains control characters");
      const problem = rule.problemOf(value);
      return problem === undefined ? accept(value) : reject(problem);
    },
    format: (value) => value,
  });
}

/** A text that may be empty; `what` says what else it may be. */
export function optionalText(
  placeholder: string,
  what: string,
  problemOf: (text: string) => string | undefined,
): ValueType<string> {
  return text(placeholder, {
    allowed: `empty, or ${what}`,
    problemOf: (value) => (value === "" ? undefined : problemOf(value)),
  });
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["true", "TRUE", "True", "t", "T", "1"].map((word) => [word, true] as const),
  ...["false", "FALSE", "False", "f", "F", "0"].map((word) => [word, false] as const),
]);

/** true or false in the spellings that Go accepts; the bare flag means true. */
export function bool(): ValueType<boolean> {
  return scalar({
    kind: "bool",
    shape: "switch",
    placeholder: "BOOL",
    allowed: "true or false",
    schema: { enum: [true, false, ...truths.keys(), 0, 1] },
    parseText(text) {
      const value = truths.get(text);
      return value === undefined ? reject("is not true or false", nearest(text, ["true", "false"])) : accept(value);
    },
    format: String,
  });
}

/** A whole number in decimal notation. No leading zeros: `010` is 8 to Go and 10 to people. */
export function int(range: { readonly min: number; readonly max: number }, kind = "int"): ValueType<number> {
  return scalar({
    kind,
    placeholder: "N",
    allowed: `a whole number from ${range.min} to ${range.max}`,
    schema: {
      type: ["integer", "string"],
      minimum: range.min,
      maximum: range.max,
      pattern: wholePattern,
    },
    parseText(text) {
      if (!new RegExp(wholePattern).test(text)) return reject("is not a whole number in decimal notation");
      const value = Number(text);
      if (value < range.min || value > range.max) return reject("is out of range");
      return accept(value === 0 ? 0 : value);
    },
    format: String,
  });
}

/** Highest int32, the type of upstream's whole numbers. */
export const int32Max = 2 ** 31 - 1;

/** A TCP port; 0 picks a free one. */
export function port(): ValueType<number> {
  return { ...int({ min: 0, max: 65_535 }, "uint16"), placeholder: "PORT" };
}

/** A decimal number. */
export function float(range: {
  readonly min: number;
  readonly max: number;
  readonly minExcluded?: boolean;
}): ValueType<number> {
  const from = range.minExcluded === true ? `above ${range.min}` : `from ${range.min}`;
  return scalar({
    kind: "float",
    placeholder: "NUMBER",
    allowed: `a number ${from} to ${range.max}`,
    schema: {
      type: ["number", "string"],
      [range.minExcluded === true ? "exclusiveMinimum" : "minimum"]: range.min,
      maximum: range.max,
      pattern: decimalPattern,
    },
    parseText(text) {
      if (text.length > 40 || !new RegExp(decimalPattern).test(text)) return reject("is not a number");
      const value = Number(text);
      const isTooLow = range.minExcluded === true ? value <= range.min : value < range.min;
      return isTooLow || value > range.max ? reject("is out of range") : accept(value === 0 ? 0 : value);
    },
    format: String,
  });
}

/** The longest timer that Node can set: 2^31 - 1 ms, about 24.8 days. */
const durationMsMax = 2 ** 31 - 1;

/** A duration in Go's syntax, as milliseconds with fractions. A `min` that is a number is in milliseconds. */
export function durationMs({ min }: { readonly min: "zero" | "positive" | number }): ValueType<number> {
  const least = typeof min === "number" ? min : 0;
  const from = min === "positive" ? "above 0" : `from ${least === 0 ? "0" : formatDuration(least)}`;
  return scalar({
    kind: "duration",
    placeholder: "DURATION",
    allowed: `a duration ${from} to 596h such as ${least === 0 ? "100ms, " : ""}10s or 1m30s`,
    // 0 needs no unit, and is a number to YAML.
    schema: {
      anyOf: [{ type: "string", maxLength: 64, pattern: durationPattern }, ...(min === "zero" ? [{ const: 0 }] : [])],
    },
    parseText(text) {
      const value = parseDurationMs(text);
      if (value === undefined) return reject(/^\d+$/.test(text) ? "has no unit" : "is not a duration");
      if (value < least || value > durationMsMax || (min === "positive" && value === 0))
        return reject("is out of range");
      return accept(value);
    },
    format: formatDuration,
  });
}

/** One of a few words. */
export function choice<const W extends string>(placeholder: string, words: readonly W[]): ValueType<W> {
  return scalar({
    kind: "enum",
    placeholder,
    allowed: words.length === 1 ? `only ${words[0]}` : `one of ${words.join(", ")}`,
    schema: { enum: words },
    parseText(text) {
      const value = words.find((word) => word === text);
      return value === undefined ? reject("is invalid", nearest(text, words)) : accept(value);
    },
    format: (value) => value,
  });
}

/** A label selector in the syntax of `kubectl -l`; the empty string selects everything. */
export function labelSelector(): ValueType<LabelSelector> {
  return scalar({
    kind: "label selector",
    placeholder: "SELECTOR",
    allowed: "a label selector such as app=web,tier in (a,b),!canary",
    schema: { type: ["string", "null"] },
    parseText: parseLabelSelector,
    format: formatLabelSelector,
  });
}
