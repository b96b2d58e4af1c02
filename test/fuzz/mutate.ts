/**
 * Structural damage to JSON: wrong types, missing and extra fields, names that JavaScript treats in a special way, and
 * text that is no JSON at all.
 */
import { type Draws } from "../support/draws.ts";

/** As JSON text, because some cannot be written as values. */
const oddValues: readonly string[] = [
  "null",
  "true",
  "false",
  "0",
  "-1",
  "-0",
  "1.5",
  "1e308",
  "1e999",
  "-1e999",
  "9007199254740993",
  "2147483648",
  '""',
  '"0"',
  '"-1"',
  '"1e3"',
  '"18446744073709551616"',
  '"\\u0000\\u001b[31m"',
  '"\\ud800"',
  '"\\u202e\\u2028"',
  '"__proto__"',
  '"2026-99-99T99:99:99Z"',
  '"2026-01-01T00:00:00Z"',
  "[]",
  "{}",
  "[null]",
  "[[[]]]",
  '{"__proto__":{"allowed":true}}',
  '{"constructor":{"prototype":1},"toString":1,"hasOwnProperty":1}',
  '{"length":1,"0":"a"}',
];
const oddKeys: readonly string[] = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "toJSON",
  "then",
  "",
  "\u0000",
  "length",
  "Uid",
];
const deepLevels: readonly number[] = [50, 500, 5_000];

function oddText(draw: Draws): string {
  return draw.weighted<string>([
    [30, () => draw.pick(oddValues)],
    [1, () => JSON.stringify("x".repeat(draw.pick([300, 5_000])))],
    [0.3, () => nested(draw.pick(deepLevels))],
  ]);
}

function nested(levels: number): string {
  return '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
}

/**
 * Changes one to three places of `value`; the result is JSON text. The damage is spread evenly over the levels of the
 * tree.
 */
export function mutated(draw: Draws, value: unknown): string {
  const root = { value: JSON.parse(JSON.stringify(value)) as unknown };
  for (let left = 1 + draw.below(3); left > 0; left -= 1) mutateOnce(draw, root);
  return (JSON.stringify(root.value) ?? "null").replaceAll(JSON.stringify(mark), () => oddText(draw));
}

/** Stands for a value that only text can express. */
const mark = "@@odd@@";

function mutateOnce(draw: Draws, root: { value: unknown }): void {
  let parent: Record<string, unknown> = root;
  let key = "value";
  for (;;) {
    const child = parent[key];
    if (typeof child !== "object" || child === null) break;
    const keys = Object.keys(child);
    if (keys.length === 0 || draw.chance(0.15)) break;
    parent = child as Record<string, unknown>;
    key = draw.pick(keys);
  }
  const own = parent[key];
  draw.weighted<unknown>([
    [5, () => define(parent, key, mark)],
    [2, () => delete parent[key]],
    [1, () => define(parent, draw.pick(oddKeys), mark)],
    [1, () => Array.isArray(parent) && parent.push(own)],
    [
      1,
      () => typeof own === "string" && define(parent, key, own + draw.pick(["\u0000", " ", "/", "%", "é", "\ud800"])),
    ],
    [1, () => typeof own === "number" && define(parent, key, draw.pick([-own, own * 1e9, own + 0.5]))],
  ]);
}

function define(parent: Record<string, unknown>, key: string, value: unknown): void {
  // Arrays have a length of their own.
  if (Array.isArray(parent) && key === "length") return;
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Damages JSON text as text: duplicate keys, numbers beyond all ranges, cut off, garbage between. */
export function garbled(draw: Draws, text: string): string {
  const at = draw.below(text.length + 1);
  return draw.weighted<string>([
    [
      3,
      () =>
        text.slice(0, at) +
        text
          .slice(at)
          .replace("{", () => `{"${draw.pick(["uid", "name", "kind", "metadata", "request"])}":${oddText(draw)},`),
    ],
    [
      2,
      () =>
        text.slice(0, at) +
        text
          .slice(at)
          .replace(
            /:\d+|:"[^"]*"/,
            () => `:${draw.pick(["1e999", "-1e999", "1E+400", "0.1e-999", "1".repeat(400), oddText(draw)])}`,
          ),
    ],
    [1, () => text.slice(0, at)],
    [
      1,
      () => text.slice(0, at) + draw.pick(["\u0000", "}", "{", ",", '"', "\\", "\ufeff", "NaN", "é"]) + text.slice(at),
    ],
    [1, () => `${draw.pick(["\ufeff", " ", "\n", "//\n", "["])}${text}`],
    [1, () => draw.pick(["", "null", "{}", "[]", "1", '"x"', "tru", "{}{}"])],
    [
      0.3,
      () => text.replace(/"options":\{/, () => `"options":{"deep":${nested(draw.pick([...deepLevels, 100_000]))},`),
    ],
  ]);
}
