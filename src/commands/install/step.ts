/** A step of an installation: what it would do, and doing it. Each can be done again at any time. */
import { type Json } from "../../api/json.ts";
import { waitEstablished } from "../restore/restored-definition.ts";
import { isKubeError } from "../../kube/kube-client.ts";
import { apply, type Site, stateOf, titleOf } from "./apply.ts";

export interface Planned {
  /** What would be done, one line each; empty = it is as it should be. */
  readonly changes: readonly string[];
  /** What could not be seen, and why. */
  readonly unseen: readonly string[];
}

export interface Step {
  /** What is done, and what for: a sentence without its full stop. */
  readonly title: string;
  /** Rejects only for programmer errors. */
  plan(): Promise<Planned>;
  /** Undefined = it is done, else why not. `tell` gets what people should know. Rejects only for programmer errors. */
  run(tell: (line: string) => void): Promise<string | undefined>;
}

/** Objects of one kind that a plan names one by one; of more only the first, and how many there are. */
const namedMax = 5;

/** Makes objects as they are wanted, in their order. */
export function objectsStep(title: string, site: Site, objects: readonly Json[]): Step {
  return {
    title,
    plan: () => planObjects(site, objects),
    async run() {
      for (const object of objects) {
        const done = await apply(site, object);
        if (!done.ok) return done.problem;
        if (object["kind"] === "CustomResourceDefinition" && done.value !== "in place") {
          const problem = await established(site);
          if (problem !== undefined) return problem;
        }
      }
      return undefined;
    },
  };
}

export async function planObjects(site: Site, objects: readonly Json[]): Promise<Planned> {
  const unseen: string[] = [];
  const changes: (readonly [string, Json])[] = [];
  for (const object of objects) {
    const state = await stateOf(site, object);
    if (!state.ok) unseen.push(state.problem);
    else if (state.value !== "in place") changes.push([state.value, object]);
  }
  const groups = Map.groupBy(changes, ([state, { kind }]) => `${state} ${String(kind)}`);
  return {
    unseen,
    changes: [...groups].map(([what, those]) =>
      lineOf(
        what,
        those.map(([, object]) => object),
      ),
    ),
  };
}

function lineOf(what: string, objects: readonly Json[]): string {
  const names = objects.slice(0, namedMax).map((object) => titleOf(object).replace(/^\S+ /, ""));
  const more = objects.length - namedMax;
  return more > 0 ? `${what} ${names.join(", ")} and ${more} more` : `${what} ${names.join(", ")}`;
}

/** Undefined = PodProtectors can be made. */
async function established({ client, clock, signal }: Site): Promise<string | undefined> {
  try {
    const isServed = await waitEstablished({ core: client, clock, signal });
    return isServed ? undefined : `${client.cluster}: the CRD is not served after a minute`;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return `${client.cluster}: whether the CRD is served is not known: ${error.message}`;
  }
}
