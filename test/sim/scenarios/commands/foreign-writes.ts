/**
 * Status writes of others than the product under test: a webhook of the Go original, and somebody who makes things up.
 */
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import {
  type Aggregation,
  type Bucket,
  type CellStatus,
  type PodProtectorStatus,
} from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { type JsonObject } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { protectorOf } from "../../core.ts";
import { type Run, type Stage } from "./stage.ts";

/** Writes the status of the PodProtector of "web" as somebody else than the product. */
async function writeStatus(
  stage: Stage,
  change: (cells: readonly CellStatus[]) => readonly CellStatus[],
): Promise<void> {
  const { engine } = stage.core.server;
  const object = engine.get(stage.core.protectors, namespace, stage.protector);
  const before = protectorOf(object);
  const cells = change(before.status?.cells ?? []);
  const status: PodProtectorStatus = { ...before.status, cells, summary: summarize(cells, before.spec) };
  const body = { ...object, status } as unknown as JsonObject;
  await stage.during(engine.update(stage.core.protectors, namespace, stage.protector, body, { subresource: "status" }));
}

function stripped({
  resourceVersion: _a,
  countedAt: _b,
  countedSpec: _c,
  countedMinReadySeconds: _f,
  countedGeneration: _g,
  recountedAt: _d,
  initializedReplicas: _e,
  countedOwners: _h,
  foreignReplicas: _i,
  ...rest
}: Aggregation): Aggregation {
  return rest;
}

/**
 * Strips all extensions, or only the generation of counts, which earlier releases do not write; with admits=N the
 * number of anonymous admissions grows by N.
 */
export const goWrite: Run = async (stage, args) => {
  if (args.flag("generation")) {
    return await writeStatus(stage, (cells) =>
      cells.map(({ aggregation, ...cell }) => {
        if (aggregation === undefined) return cell;
        const { countedGeneration: _, ...earlier } = aggregation;
        return { ...cell, aggregation: earlier };
      }),
    );
  }
  const admits = args.number("admits", 0);
  const startTime = formatMicroTime(stage.core.node.clock.epochMicros());
  await writeStatus(stage, (cells) =>
    cells.map(({ aggregation, admissionHistory, ...cell }) => {
      const buckets = (admissionHistory?.buckets ?? []).map(
        ({ podResourceVersion: _v, evictionResourceVersion: _e, podUIDDigests: _d, ...bucket }): Bucket => bucket,
      );
      const anonymous = buckets.find(({ podUID }) => podUID === undefined);
      const counter = (anonymous?.counter ?? 0) + admits;
      const added = counter === 0 ? [] : [{ ...(anonymous ?? { startTime }), endTime: startTime, counter }];
      const all = [...buckets.filter((bucket) => bucket !== anonymous), ...added];
      return {
        ...cell,
        ...(aggregation !== undefined && { aggregation: stripped(aggregation) }),
        admissionHistory: { buckets: all },
      };
    }),
  );
};

/**
 * go-count N: an aggregator of the Go original writes the first cell. By its late watch N pods are available; by the
 * clock of some event it has seen all admissions, and forgets them. Forged: who has the token of our own aggregator
 * says so, and changes nothing else. as-of=X: one of a release before does, which keeps them, and names its snapshot.
 */
export const goCount: Run = async (stage, args) => {
  const count = Number(args.word("the number of pods"));
  const asOf = args.setting("as-of");
  if (asOf !== undefined) return await earlierCount(stage, count, asOf);
  // Whichever was counted first, and so comes first in the status.
  const [first] = stage.world.cells;
  const cellID = first?.name ?? "";
  const numbers = { totalReplicas: count, availableReplicas: count, readyReplicas: count };
  if (args.flag("forged"))
    return await writeStatus(stage, (cells) =>
      cells.map((cell) => {
        if (cell.cellID !== cellID || cell.aggregation === undefined) return cell;
        // Of no snapshot that there was.
        const { resourceVersion: _, ...said } = cell.aggregation;
        return { ...cell, aggregation: { ...said, ...numbers } };
      }),
    );
  const lastEventTime = formatMicroTime(stage.core.node.clock.epochMicros());
  const aggregation: Aggregation = { ...numbers, lastEventTime };
  await writeStatus(stage, (cells) =>
    cells.some((cell) => cell.cellID === cellID)
      ? cells.map(({ admissionHistory: _, ...cell }) =>
          cell.cellID === cellID ? { ...cell, aggregation } : { ...cell, ...(_ && { admissionHistory: _ }) },
        )
      : [{ cellID, aggregation }, ...cells],
  );
};

/** All that is counted are as many; nothing is said of what is left out. */
async function earlierCount(stage: Stage, count: number, asOf: string): Promise<void> {
  const [first] = stage.world.cells;
  const { metadata } = stage.pods.get(first?.name ?? "")?.find(asOf) ?? {};
  await writeStatus(stage, (cells) =>
    cells.map((cell) => {
      if (cell.cellID !== first?.name || cell.aggregation === undefined) return cell;
      const { countedOwners: _o, foreignReplicas: _f, countedGeneration: _g, ...earlier } = cell.aggregation;
      const names = ["total", "available", "ready", "scheduled", "running", "initialized"];
      const counts = Object.fromEntries(names.map((name) => [`${name}Replicas`, count]));
      const resourceVersion = metadata?.resourceVersion as Aggregation["resourceVersion"];
      return { ...cell, aggregation: { ...earlier, ...counts, ...(resourceVersion && { resourceVersion }) } };
    }),
  );
}

/** misdate 2h: the counts of the first cell seem to come from a recount at so late a time. */
export const misdate: Run = async (stage, args) => {
  const aheadMs = args.duration(args.word("by how much"));
  const now = stage.core.node.clock.epochMicros();
  const recountedAt = formatMicroTime((now + aheadMs * 1_000) as EpochMicros);
  await writeStatus(stage, ([first, ...others]) =>
    first?.aggregation === undefined
      ? others
      : [{ ...first, aggregation: { ...first.aggregation, recountedAt } }, ...others],
  );
};

/** forge UID version=N [digits=N] [cell=C]: into the first cell, or into one that may not be there yet. */
export const forge: Run = async (stage, args) => {
  const podUID = args.word("the UID");
  const podResourceVersion = args.setting("version") ?? "";
  const startTime = formatMicroTime(stage.core.node.clock.epochMicros());
  const digits = args.number("digits", 0);
  const bucket = {
    startTime,
    podUID,
    podResourceVersion,
    ...(digits > 0 && { podUIDDigests: "A".repeat(digits) }),
  } as Bucket;
  const chosen = args.setting("cell");
  await writeStatus(stage, (cells) => {
    const cellID = chosen ?? cells[0]?.cellID ?? "";
    const present = cells.some((cell) => cell.cellID === cellID) ? cells : [...cells, { cellID }];
    return present.map((cell) =>
      cell.cellID === cellID
        ? { ...cell, admissionHistory: { buckets: [...(cell.admissionHistory?.buckets ?? []), bucket] } }
        : cell,
    );
  });
};
