/**
 * What the annotations of a source change of what it asks for (docs/generator.md#overrides). Shares nothing with the
 * product.
 */
import { type KubeObject } from "../../../double/engine/object.ts";
import { mayGo, type Share, shareOf, type SourceRules, up } from "./shares.ts";

const prefix = "podseidon.kubewharf.io/";

/** Its owner wants no PodProtector. */
export function isOptedOut(source: KubeObject): boolean {
  return wordOf(source, "protect") === "false";
}

/** Undefined = nothing sets it. */
export function overriddenSeconds(source: KubeObject): number | undefined {
  const text = wordOf(source, "min-ready-seconds") ?? "";
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The floor of so many replicas; undefined = nothing that can be read sets it, or two things do. */
export function overriddenFloor(source: KubeObject, replicas: number, rules: SourceRules): number | undefined {
  const [least, most] = [wordOf(source, "min-available"), wordOf(source, "max-unavailable")];
  if (least !== undefined && most !== undefined) return undefined;
  const share = wholeShareOf(least ?? most);
  if (share === undefined) return undefined;
  if (least !== undefined) return Math.min(replicas, up(share, replicas));
  return Math.max(0, replicas - mayGo(share, replicas, rules));
}

function wholeShareOf(text = ""): Share | undefined {
  if (/^[0-9]{1,9}$/.test(text)) return shareOf(Number(text));
  return /^([0-9]{1,2}|100)%$/.test(text) ? shareOf(text) : undefined;
}

function wordOf({ metadata }: KubeObject, name: string): string | undefined {
  return metadata.annotations?.[`${prefix}${name}`];
}
