/** What a client is told beside the answer: warnings of webhooks, and fields that a schema does not know. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { type Answer } from "../target.ts";

/** The Warning headers of an answer. */
function warnings({ headers }: Answer): readonly string[] {
  const found = headers["warning"];
  return found === undefined ? [] : Array.isArray(found) ? found : [found];
}

const webhooks = theme("warning of a webhook", {
  "reaches the client whose request is allowed": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(() => ({ allowed: true, warnings: ["the floor is near", 'say "no"'] }));
    const answer = await space.pods.delete("a");
    ok(answer);
    assert.deepEqual(warnings(answer), ['299 - "the floor is near"', '299 - "say \\"no\\""']);
  },
  "reaches the client whose request is refused": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(() => ({ allowed: false, warnings: ["too low"], status: { code: 429, message: "no" } }));
    const answer = await space.pods.delete("a");
    assert.equal(answer.code, 429);
    assert.deepEqual(warnings(answer), ['299 - "too low"']);
  },
  "comes once, however often it is said": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(() => ({ allowed: true, warnings: ["twice", "twice"] }));
    assert.deepEqual(warnings(await space.pods.delete("a", { gracePeriodSeconds: 0 })), ['299 - "twice"']);
  },
  "comes with an eviction as well": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(() => ({ allowed: true, warnings: ["evicted"] }));
    const answer = await space.evict("a");
    ok(answer, 201);
    assert.deepEqual(warnings(answer), ['299 - "evicted"']);
  },
});

const strict = { fieldValidation: "Strict" };

const fields = theme("unknown field of a custom resource", {
  "is warned about, and dropped": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const body = bodies.podProtector("a", { unknown: 1 });
    for (const query of [{}, { fieldValidation: "Warn" }]) {
      const answer = await protectors.post({ ...body, metadata: { name: t.unique("a") } }, query);
      assert.equal(ok(answer, 201).spec?.unknown, undefined);
      assert.deepEqual(warnings(answer), ['299 - "unknown field \\"spec.unknown\\""']);
    }
  },
  "is dropped silently when the client ignores it": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const answer = await protectors.post(bodies.podProtector("a", { unknown: 1 }), { fieldValidation: "Ignore" });
    ok(answer, 201);
    assert.deepEqual(warnings(answer), []);
  },
  "is refused when the client is strict": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const answer = await protectors.post(
      bodies.podProtector("a", { unknown: 1, admissionHistoryConfig: { b: 1 } }),
      strict,
    );
    refused(answer, 400, "BadRequest", /strict decoding error: .*unknown field "spec.unknown"/);
    assert.match(answer.body.message ?? "", /unknown field "spec.admissionHistoryConfig.b"/);
    assert.equal(await protectors.has("a"), false);
    const created = await protectors.create(bodies.podProtector("a"));
    const put = await protectors.put("a", { ...created, spec: { ...created.spec, unknown: 1 } }, strict);
    refused(put, 400, "BadRequest", /strict decoding error: unknown field "spec.unknown"/);
  },
  "is refused in a patch when the client is strict": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const answer = await protectors.merge("a", { spec: { unknown: 1 } }, strict);
    refused(answer, 422, "Invalid", /strict decoding error: unknown field "spec.unknown"/);
    const warned = await protectors.merge("a", { spec: { unknown: 1, minAvailable: 2 } });
    ok(warned);
    assert.deepEqual(warnings(warned), ['299 - "unknown field \\"spec.unknown\\""']);
  },
  "with another validation than there is is refused": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const answer = await protectors.post(bodies.podProtector("a"), { fieldValidation: "Frob" });
    refused(answer, 422, "Invalid", /fieldValidation: Unsupported value: "Frob"/);
  },
});

export const warningCases = [...webhooks, ...fields];
