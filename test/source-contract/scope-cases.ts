/** The part of the contract about what people say of a source, and about its name: opt-out, overrides, long names. */
import assert from "node:assert/strict";
import { neverReplicas } from "../../src/accounting/count/foreign-owners.ts";
import { annotations, labels } from "../../src/api/v1alpha1/names.ts";
import { podProtectors } from "../../src/kube/resources.ts";
import { type Bench, type ContractCase, hasFinalizer } from "./bench.ts";

async function protect(bench: Bench): Promise<void> {
  await bench.create();
  await bench.becomes("the floor of a new source", bench.floor, bench.sample.floor);
}

/** Neither a PodProtector nor a finalizer. */
async function isLetGo(bench: Bench): Promise<void> {
  const left = async () => [await bench.protector(), hasFinalizer(await bench.source())];
  await bench.becomes("what is left of its protection", left, [undefined, false]);
}

export const scopeCases: readonly ContractCase[] = [
  {
    name: "a source that is opted out is let go, and protected again when it is opted in",
    async play(bench) {
      await protect(bench);
      await bench.patch({ metadata: { labels: { guard: "no" } } });
      await isLetGo(bench);
      await bench.patch({ metadata: { labels: { guard: null } } });
      await bench.becomes("the floor when it is opted in", bench.floor, bench.sample.floor);
    },
  },
  {
    name: "a source that is opted out by annotation is let go, and protected again without it",
    async play(bench) {
      await protect(bench);
      await bench.annotate({ protect: "false" });
      await isLetGo(bench);
      await bench.annotate({ protect: null });
      await bench.becomes("the floor without the annotation", bench.floor, bench.sample.floor);
    },
  },
  {
    name: "the label of the namespace puts PodProtectors in shadow, takes them off, and in force again",
    async play(bench) {
      await protect(bench);
      const mode = async () => (await bench.protector())?.metadata.annotations?.[annotations.mode];
      await bench.labelNamespace({ [labels.mode]: "shadow" });
      await bench.becomes("the mode", mode, "shadow");
      assert.equal(await bench.floor(), bench.sample.floor);
      await bench.labelNamespace({ [labels.mode]: "off" });
      await isLetGo(bench);
      await bench.labelNamespace({ [labels.mode]: null });
      await bench.becomes("the floor without the label", bench.floor, bench.sample.floor);
      assert.equal(await mode(), undefined);
    },
  },
  {
    name: "overrides replace what is derived, and go with the annotations; what people have tuned stays",
    async play(bench) {
      await protect(bench);
      await bench.patchProtector({ spec: { admissionHistoryConfig: { compactThreshold: 50 } } });
      const own = { "min-ready-seconds": "9", "health-criterion": "Running", "max-concurrent-lag": "3" };
      await bench.annotate({ "min-available": "95%", ...own });
      const spec = async () => (await bench.protector())?.spec;
      const selector = { matchLabels: { app: "web" } };
      const foreignOwners = bench.sample.kind.hasAnyOwner === true ? [] : [...neverReplicas];
      const overridden = {
        minAvailable: 10,
        minReadySeconds: 9,
        healthCriterion: "Running",
        admissionHistoryConfig: { compactThreshold: 50, maxConcurrentLag: 3 },
        selector,
        foreignOwners,
      };
      await bench.becomes("the spec with overrides", spec, overridden);
      await bench.patchProtector({ spec: { healthCriterion: "Ready", minAvailable: 0 } });
      await bench.becomes("the spec that was changed by hand", spec, overridden);
      await bench.annotate({ "min-available": null, "max-unavailable": "40%" });
      await bench.becomes("the floor by max-unavailable", bench.floor, 6);
      const gone = Object.fromEntries([...Object.keys(own), "max-unavailable"].map((name) => [name, null]));
      await bench.annotate(gone);
      const derived = { minAvailable: bench.sample.floor, minReadySeconds: 0, selector, foreignOwners };
      const tuned = { ...derived, admissionHistoryConfig: { compactThreshold: 50 } };
      await bench.becomes("the spec without overrides", spec, tuned);
      assert.equal((await bench.protector())?.metadata.annotations?.[annotations.overridden], undefined);
    },
  },
  {
    name: "an override above the replicas is held at these, so that scaling down passes",
    async play(bench) {
      await protect(bench);
      await bench.annotate({ "min-available": "12" });
      await bench.becomes("the floor of ten replicas", bench.floor, 10);
      await bench.scale(4);
      await bench.becomes("the floor of four replicas", bench.floor, 4);
    },
  },
  {
    name: "an override that cannot be read is told, and what is derived holds",
    async play(bench) {
      await protect(bench);
      for (const wrong of ["-1", "x", "101%", "", "0.5", "1e3", "3 "]) {
        await bench.annotate({ "min-available": "3" });
        await bench.becomes("the floor by an override", bench.floor, 3);
        await bench.annotate({ "min-available": wrong });
        await bench.becomes(`the floor by the override ${JSON.stringify(wrong)}`, bench.floor, bench.sample.floor);
      }
      await bench.annotate({ "min-available": "0", "max-unavailable": "100%" });
      const { kind } = bench.sample.kind;
      const text = new RegExp(`"kind":"${kind}"[^}]*}.*only one of them may be there`);
      await bench.becomes("an Event about two overrides at once", () => bench.isTold(text), true, "late");
      await bench.stays("the floor with two overrides at once", bench.floor, bench.sample.floor);
    },
  },
  {
    name: "a source that is made anew under another name has another PodProtector",
    async play(bench) {
      await protect(bench);
      await bench.create("web-2");
      await bench.delete();
      const floors = () => bench.floors(["web", "web-2"]);
      await bench.becomes("the floors of the old name and the new", floors, [undefined, bench.sample.floor]);
    },
  },
  {
    name: "long names that differ only at their end have a PodProtector each, and it ends with its own",
    async play(bench) {
      const { floor, nameLengthMax = 253 } = bench.sample;
      const [one, two] = ["a", "b"].map((end) => `${"w".repeat(nameLengthMax - 1)}${end}`) as [string, string];
      await bench.create(one);
      await bench.create(two);
      assert.ok(bench.protectorName(one).length <= 253);
      assert.notEqual(bench.protectorName(one), bench.protectorName(two));
      const floors = () => bench.floors([one, two]);
      await bench.becomes("the floors of both", floors, [floor, floor]);
      await bench.delete(one);
      await bench.becomes("the floors when the first is deleted", floors, [undefined, floor]);
    },
  },
  {
    name: "somebody else's PodProtector under the name stays, and people are told what is not protected",
    logs: /Cannot reconcile a/,
    async play(bench) {
      const name = bench.protectorName();
      await bench.createProtector(name);
      await bench.create();
      const text = new RegExp(`This ${bench.sample.kind.kind} is not protected`);
      await bench.becomes("an Event about it", () => bench.isTold(text), true, "late");
      assert.deepEqual([await bench.floor(), hasFinalizer(await bench.source())], [3, false]);
      await bench.ask("DELETE", bench.path(podProtectors, name));
      await bench.becomes("the floor when the name is free", bench.floor, bench.sample.floor, "late");
    },
  },
];
