/**
 * Cases that are data: the files beside this one have themes, their sentences, and the steps of each. A step begins
 * with what is done, and goes on with what must come of it:
 *
 *     - create configmaps a: { data: { k: "1" } }    its body, where it differs from that of bodies.ts
 *       as: created                                  the name of what was answered: `${created.metadata.uid}`
 *     - merge configmaps a: { data: { k: null } }    also: json, strategic, put, post, get, list, table, delete, evict
 *       query: { dryRun: All }                       also: contentType, accept, user, as in RequestOptions
 *       data: { k: "3" }                             a path in the answer, and what stands there; /…/ is a pattern
 *       items.*.metadata.name: [a, b]                of each item; `conditions.type=Ready.status` of the one
 *       same: created                                has its version; `newer`: a higher one; `is`: is equal
 *     - get configmaps b: null
 *       refused: [404, NotFound, 'configmaps "b" not found']
 *
 * `live a` creates a pod on a node, `has configmaps a: false` asks whether it is there. `space: deletions` at the
 * beginning has the requests reviewed, `answer` is what the webhook says from then on, and `reviews` what it was asked
 * (`reviewed`: by paths). A body with `from: created` is that object, changed. `each` does its steps for each of its
 * values, `${it}`. `watch` lasts a second, and `events` is all that came of it. Of a Table, `columns` is `name type
 * format priority` of each.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { load } from "js-yaml";
import { bodies } from "../bodies.ts";
import { type ConformanceCase, theme } from "../case.ts";
import { lines, ok, refused } from "../expect.ts";
import { type ReviewProfile, type ReviewResponse } from "../reviews.ts";
import { type Collection, type ResourceName, type Scope, type Space, summary } from "../scope.ts";
import { type Answer, type Query, type RequestOptions } from "../target.ts";
import { columnsOf, compareVersions, type Thing, versionOf } from "../thing.ts";

type Fields = Readonly<Record<string, unknown>>;

const asFields = (value: unknown): Fields => (value ?? {}) as Fields;

/** What a body of `create` and `put` is, but for what the step says. */
const defaults: Readonly<Partial<Record<ResourceName, (name: string) => object>>> = {
  configmaps: (name) => bodies.configMap(name),
  deployments: (name) => bodies.deployment(name),
  events: (name) => bodies.event(name, {}),
  leases: (name) => bodies.lease(name),
  poddisruptionbudgets: (name) => bodies.budget(name),
  podprotectors: (name) => bodies.podProtector(name),
  pods: (name) => bodies.pod(name),
  replicasets: (name) => bodies.replicaSet(name),
  statefulsets: (name) => bodies.statefulSet(name),
};

/** What stands at a path; `*` is each item of a list, `type=Ready` the first such item, `@keys` are fields' names. */
function pick(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  const items = (): readonly unknown[] => (value ?? []) as readonly unknown[];
  if (key === "@keys") return Object.keys(asFields(value));
  if (key === "*") return items().map((item) => pick(item, rest));
  const [field = "", wanted] = key.split("=");
  const next = wanted === undefined ? asFields(value)[key] : items().find((item) => asFields(item)[field] === wanted);
  return pick(next, rest);
}

function patternOf(text: unknown): RegExp | undefined {
  const [, source] = typeof text === "string" ? (/^\/(.*)\/$/s.exec(text) ?? []) : [];
  return source === undefined ? undefined : new RegExp(source);
}

/** The cases of all `*.yaml` here. */
export function scriptedCases(): readonly ConformanceCase[] {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".yaml"));
  return files.toSorted().flatMap((name) => casesOf(readFileSync(path.join(import.meta.dirname, name), "utf8")));
}

/** The same of the text of one file. */
export function casesOf(text: string): readonly ConformanceCase[] {
  const themes = load(text);
  return Object.entries(themes as Record<string, Record<string, readonly Fields[]>>).flatMap(([name, sentences]) => {
    const runs = Object.entries(sentences).map(([sentence, steps]) => {
      return [sentence, (scope: Scope) => Player.play(scope, steps)] as const;
    });
    return theme(name, Object.fromEntries(runs));
  });
}

class Player {
  readonly #space: Space;
  /** What the steps so far have named. */
  readonly #named: Record<string, unknown>;

  constructor(space: Space) {
    this.#space = space;
    this.#named = { space: space.name };
  }

  static async play(scope: Scope, steps: readonly Fields[]): Promise<void> {
    const profile = steps[0]?.["space"] as ReviewProfile | undefined;
    const player = new Player(await scope.space(profile));
    await player.#do(profile === undefined ? steps : steps.slice(1));
  }

  async #do(steps: readonly Fields[]): Promise<void> {
    for (const step of steps) {
      const [[verb, given] = ["", null], ...expected] = Object.entries(step);
      if (verb === "each") {
        for (const it of this.#filled(given) as readonly unknown[]) {
          this.#named["it"] = it;
          await this.#do(step["do"] as readonly Fields[]);
        }
      } else if (verb === "answer") this.#space.review(() => given as ReviewResponse);
      else if (verb === "reviews") assert.deepEqual(summary(this.#space.reviews), given);
      else if (verb === "reviewed") {
        for (const [place, value] of Object.entries(asFields(this.#filled(given))))
          assert.deepEqual(pick(this.#space.reviews, place.split(".")), value, place);
      } else if (verb.startsWith("has ")) {
        const [, resource = "", name = ""] = verb.split(" ");
        assert.equal(await this.#collection(resource).has(name), given, verb);
      } else {
        await this.#request(
          String(this.#filled(verb)),
          this.#filled(given),
          this.#filled(Object.fromEntries(expected)) as Fields,
        );
      }
    }
  }

  async #request(what: string, given: unknown, { query, contentType, accept, user, ...rest }: Fields): Promise<void> {
    const options = { query, contentType, accept, user } as RequestOptions;
    const [verb = "", resource = "", name = ""] = what.split(" ");
    if (verb === "watch") return await this.#watch(resource, query as Query, rest);
    const answer = await this.#send(verb, resource, name, given, options);
    const isCreation = ["create", "post", "live", "evict"].includes(verb);
    const { code = isCreation && !("refused" in rest) ? 201 : undefined, ...expected } = rest;
    this.#check(answer, { code, ...expected }, what);
  }

  async #watch(resource: string, query: Query, expected: Fields): Promise<void> {
    const stream = await this.#collection(resource).watch({ ...query, timeoutSeconds: 1 });
    const events = await stream.rest();
    const { events: wanted, ...fields } = expected;
    assert.deepEqual(lines(events), wanted);
    for (const [path, value] of Object.entries(fields)) assert.deepEqual(pick(events, path.split(".")), value, path);
  }

  #send(verb: string, resource: string, name: string, given: unknown, options: RequestOptions): Promise<Answer> {
    const target = this.#space.target;
    const { query = {} } = options;
    if (resource.startsWith("/")) return target.request(verb, resource, options);
    if (verb === "evict") return this.#space.evict(resource, asFields(given), query);
    if (verb === "live") {
      const { spec, ...metadata } = asFields(given);
      const body = { metadata, spec: { nodeName: "node-0", ...asFields(spec) } };
      return this.#collection("pods").post(this.#body("pods", resource, body));
    }
    const collection = this.#collection(resource);
    const [object] = name.split("/");
    switch (verb) {
      case "create":
        return collection.post(this.#body(resource, object ?? "", asFields(given)), query);
      case "put":
        return collection.put(name, this.#body(resource, object ?? "", asFields(given)), query);
      case "post":
        return collection.post(given, query);
      case "merge":
        return collection.merge(name, given, query);
      case "json":
        return collection.jsonPatch(name, given, query);
      case "strategic":
        return collection.strategic(name, given, query);
      case "delete":
        return collection.delete(name, given === null ? undefined : asFields(given), query);
      case "table":
        return collection.table(name, query);
      case "get":
      case "list":
        return collection.get(name, query);
      default:
        return collection.request(verb, name, { ...options, ...(given === null ? {} : { body: given }) });
    }
  }

  #collection(resource: string): Collection {
    return this.#space.of(resource as ResourceName);
  }

  #body(resource: string, name: string, { from, ...changes }: Fields): Fields {
    const base = asFields(from ?? defaults[resource as ResourceName]?.(name));
    const merged = (key: string): Fields =>
      changes[key] === undefined ? {} : { [key]: { ...asFields(base[key]), ...asFields(changes[key]) } };
    return { ...base, ...changes, ...merged("metadata"), ...merged("spec") };
  }

  /** With what `${…}` stands for. */
  #filled(value: unknown): unknown {
    if (typeof value === "string") {
      const whole = /^\$\{([^}]*)\}$/.exec(value);
      if (whole !== null) return this.#lookUp(whole[1]!);
      return value.replaceAll(/\$\{([^}]*)\}/g, (_, place: string) => String(this.#lookUp(place)));
    }
    if (Array.isArray(value)) return value.map((item) => this.#filled(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#filled(item)]));
  }

  #lookUp(place: string): unknown {
    const found = pick(this.#named, place.split("."));
    assert.notEqual(found, undefined, `nothing is named ${place}`);
    return found;
  }

  #check(answer: Answer, { code, refused: refusal, ...fields }: Fields, what: string): void {
    if (refusal !== undefined) {
      const [status, reason, message] = refusal as [number, string, string];
      refused(answer, status, reason, patternOf(message) ?? message);
    } else if (typeof code === "number" && code >= 300) assert.equal(answer.code, code, answer.text);
    else ok(answer, code as number | undefined);
    const { body, headers } = answer;
    const named = (name: unknown): Thing => this.#named[name as string] as Thing;
    for (const [path, expected] of Object.entries(fields)) {
      const text = `${path} after ${what}: ${answer.text}`;
      if (path === "as") this.#named[expected as string] = body;
      else if (path === "is") assert.deepEqual(body, named(expected), text);
      else if (path === "same") assert.equal(versionOf(body), versionOf(named(expected)), text);
      else if (path === "notOlder") assert.ok(compareVersions(versionOf(named(expected)), versionOf(body)) <= 0, text);
      else if (path === "newer") assert.ok(compareVersions(versionOf(named(expected)), versionOf(body)) < 0, text);
      else if (path === "absent" || path === "present") {
        for (const one of expected as readonly string[])
          assert.equal(pick(body, one.split(".")) === undefined, path === "absent", `${one} is not ${text}`);
      } else if (path === "text") assert.equal(answer.text, expected);
      else if (path === "warnings") assert.deepEqual([headers["warning"] ?? []].flat(), expected, text);
      else checkPlace(body, path, expected, text);
    }
  }
}

/** `name image` of each container of a pod template. */
function imagesOf(body: Thing): unknown {
  const { template } = (body.spec ?? {}) as { readonly template?: unknown };
  const containers = pick(template, ["spec", "containers"]) as readonly { name: string; image: string }[] | undefined;
  return containers?.map(({ name, image }) => `${name} ${image}`);
}

function checkPlace(body: Thing, path: string, expected: unknown, text: string): void {
  const actual =
    path === "images" ? imagesOf(body) : path === "columns" ? columnsOf(body) : pick(body, path.split("."));
  const pattern = patternOf(expected);
  if (pattern === undefined) assert.deepEqual(actual, expected, text);
  else assert.match(typeof actual === "string" ? actual : "", pattern, text);
}
