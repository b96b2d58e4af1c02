/**
 * Selectors and the label sets that they match or do not match, each case a sentence. Run for the compiler and for
 * every index.
 */
import { type Labels } from "../../../src/api/pod.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../../../src/api/v1alpha1/pod-protector.ts";

export interface SelectorCase {
  readonly sentence: string;
  readonly selector: LabelSelector;
  readonly matches: readonly Labels[];
  readonly rejects: readonly Labels[];
}

export const isIn = (key: string, ...values: string[]): LabelSelectorRequirement => ({ key, operator: "In", values });
export const notIn = (key: string, ...values: string[]): LabelSelectorRequirement => ({
  key,
  operator: "NotIn",
  values,
});
export const exists = (key: string): LabelSelectorRequirement => ({ key, operator: "Exists" });
export const absent = (key: string): LabelSelectorRequirement => ({ key, operator: "DoesNotExist" });

const seventy = Array.from({ length: 70 }, (_, index) => `v${index}`);
const fortyLabels = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, "x"]));

export const selectorCases: readonly SelectorCase[] = [
  {
    sentence: "the empty selector matches every label set",
    selector: {},
    matches: [{}, { app: "web" }],
    rejects: [],
  },
  {
    sentence: "empty matchLabels and matchExpressions match every label set",
    selector: { matchLabels: {}, matchExpressions: [] },
    matches: [{}, { app: "web" }],
    rejects: [],
  },
  {
    sentence: "matchLabels need every pair, and other labels do not matter",
    selector: { matchLabels: { app: "web", tier: "front" } },
    matches: [
      { app: "web", tier: "front" },
      { app: "web", tier: "front", zone: "a" },
    ],
    rejects: [{}, { app: "web" }, { app: "web", tier: "back" }, { app: "front", tier: "web" }],
  },
  {
    sentence: "In needs the key with one of the values",
    selector: { matchExpressions: [isIn("app", "web", "api")] },
    matches: [{ app: "web" }, { app: "api", tier: "x" }],
    rejects: [{}, { app: "db" }, { tier: "web" }],
  },
  {
    sentence: "NotIn holds for another value and for an absent key",
    selector: { matchExpressions: [notIn("app", "web", "api")] },
    matches: [{}, { app: "db" }, { tier: "web" }],
    rejects: [{ app: "web" }, { app: "api" }],
  },
  {
    sentence: "Exists needs the key with any value, the empty one too",
    selector: { matchExpressions: [exists("app")] },
    matches: [{ app: "web" }, { app: "" }],
    rejects: [{}, { tier: "app" }],
  },
  {
    sentence: "DoesNotExist needs the key to be absent",
    selector: { matchExpressions: [absent("app")] },
    matches: [{}, { tier: "x" }],
    rejects: [{ app: "web" }, { app: "" }],
  },
  {
    sentence: "a selector of negatives only is judged for every label set",
    selector: { matchExpressions: [absent("debug"), notIn("app", "web"), notIn("zone", "a")] },
    matches: [{}, { app: "db" }, { zone: "b", tier: "x" }],
    rejects: [{ debug: "1" }, { app: "web" }, { zone: "a" }],
  },
  {
    sentence: "an empty value is a value",
    selector: { matchLabels: { app: "" } },
    matches: [{ app: "" }],
    rejects: [{}, { app: "web" }],
  },
  {
    sentence: "a value repeated within In counts once",
    selector: { matchExpressions: [isIn("app", "web", "web", "api", "web")] },
    matches: [{ app: "web" }, { app: "api" }],
    rejects: [{}, { app: "db" }],
  },
  {
    sentence: "the same pair in matchLabels and In is one wish",
    selector: { matchLabels: { app: "web" }, matchExpressions: [isIn("app", "web")] },
    matches: [{ app: "web" }, { app: "web", tier: "x" }],
    rejects: [{}, { app: "api" }],
  },
  {
    sentence: "matchLabels narrow an In of the same key",
    selector: { matchLabels: { app: "web" }, matchExpressions: [isIn("app", "web", "api")] },
    matches: [{ app: "web" }],
    rejects: [{ app: "api" }, {}],
  },
  {
    sentence: "two In of one key match the values common to both",
    selector: { matchExpressions: [isIn("app", "web", "api", "db"), isIn("app", "api", "db", "job")] },
    matches: [{ app: "api" }, { app: "db" }],
    rejects: [{ app: "web" }, { app: "job" }, {}],
  },
  {
    sentence: "two In of one key without a common value match nothing",
    selector: { matchExpressions: [isIn("app", "web"), isIn("app", "api")] },
    matches: [],
    rejects: [{}, { app: "web" }, { app: "api" }],
  },
  {
    sentence: "Exists twice is Exists once",
    selector: { matchExpressions: [exists("app"), exists("app")] },
    matches: [{ app: "web" }],
    rejects: [{}],
  },
  {
    sentence: "Exists beside In of the same key adds nothing",
    selector: { matchExpressions: [exists("app"), isIn("app", "web")] },
    matches: [{ app: "web" }],
    rejects: [{}, { app: "api" }],
  },
  {
    sentence: "Exists with NotIn of the same key needs another value",
    selector: { matchExpressions: [notIn("app", "web"), exists("app")] },
    matches: [{ app: "api" }],
    rejects: [{}, { app: "web" }],
  },
  {
    sentence: "NotIn takes values away from In",
    selector: { matchExpressions: [isIn("app", "web", "api"), notIn("app", "api")] },
    matches: [{ app: "web" }],
    rejects: [{}, { app: "api" }],
  },
  {
    sentence: "NotIn of all the values of In matches nothing",
    selector: { matchExpressions: [isIn("app", "web", "api"), notIn("app", "api", "web")] },
    matches: [],
    rejects: [{}, { app: "web" }, { app: "api" }],
  },
  {
    sentence: "Exists and DoesNotExist of one key match nothing",
    selector: { matchExpressions: [exists("app"), absent("app")] },
    matches: [],
    rejects: [{}, { app: "web" }],
  },
  {
    sentence: "matchLabels and DoesNotExist of one key match nothing",
    selector: { matchLabels: { app: "web" }, matchExpressions: [absent("app")] },
    matches: [],
    rejects: [{}, { app: "web" }],
  },
  {
    sentence: "NotIn beside DoesNotExist of the same key adds nothing",
    selector: { matchExpressions: [absent("app"), notIn("app", "web")] },
    matches: [{}],
    rejects: [{ app: "web" }, { app: "api" }],
  },
  {
    sentence: "several In lists match each combination of their values",
    selector: { matchExpressions: [isIn("app", "web", "api"), isIn("zone", "a", "b"), exists("tier")] },
    matches: [
      { app: "web", zone: "a", tier: "x" },
      { app: "api", zone: "b", tier: "y" },
    ],
    rejects: [
      { app: "web", zone: "a" },
      { app: "web", zone: "c", tier: "x" },
      { app: "web", tier: "x" },
    ],
  },
  {
    sentence: "an In list above the word limit still matches exactly",
    selector: { matchLabels: { app: "web" }, matchExpressions: [isIn("shard", ...seventy)] },
    matches: [
      { app: "web", shard: "v0" },
      { app: "web", shard: "v69" },
    ],
    rejects: [{ app: "web" }, { app: "web", shard: "v70" }, { app: "api", shard: "v0" }],
  },
  {
    sentence: "In lists whose product is above the word limit still match exactly",
    selector: {
      matchExpressions: [
        isIn("a", ...seventy),
        isIn("b", ...seventy),
        isIn("c", ...seventy.slice(0, 9)),
        isIn("d", "x", "y"),
      ],
    },
    matches: [{ a: "v0", b: "v69", c: "v8", d: "y" }],
    rejects: [
      { a: "v70", b: "v69", c: "v8", d: "y" },
      { a: "v0", b: "v69", c: "v9", d: "y" },
      { a: "v0", b: "v69", c: "v8", d: "z" },
      { a: "v0", c: "v8", d: "y" },
    ],
  },
  {
    sentence: "more keys than a word has letters still match exactly",
    selector: { matchLabels: fortyLabels },
    matches: [fortyLabels, { ...fortyLabels, other: "y" }],
    rejects: [{}, { ...fortyLabels, k39: "y" }, { ...fortyLabels, k0: "y" }],
  },
  {
    sentence: "keys that every JavaScript object inherits are absent until they are labels",
    selector: { matchExpressions: [absent("constructor"), notIn("toString", "x")] },
    matches: [{}, { toString: "y" }],
    rejects: [{ constructor: "x" }, { toString: "x" }],
  },
  {
    sentence: "keys that every JavaScript object inherits can be required",
    selector: { matchExpressions: [exists("constructor")] },
    matches: [{ constructor: "x" }],
    rejects: [{}],
  },
  {
    sentence: "text that no valid label has does not confuse keys with values",
    selector: { matchLabels: { "a=b": "c" }, matchExpressions: [exists("d")] },
    matches: [{ "a=b": "c", d: "" }],
    rejects: [{ a: "b=c", d: "" }, { "a=b": "d" }, { a: "b", d: "c" }],
  },
];
