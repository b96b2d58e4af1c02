/** One look at the cores, for programs. Fields are only added, never renamed. */
import { formatMicroTime } from "../../api/micro-time.ts";
import { objectKey } from "../../api/object-key.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type CoreLook } from "../fleet/look.ts";
import { forcedOf, type Refusals, refusalsOf, releasesOf } from "../fleet/refusals.ts";
import { isWrong, type Standing } from "../fleet/standing.ts";
import { cellsJson } from "./cell-lines.ts";
import { isAnythingWrong } from "./text.ts";

export function statusJson(looks: readonly CoreLook[]): object {
  return { isWrong: looks.some(isAnythingWrong), cores: looks.map(coreJson) };
}

function coreJson(look: CoreLook): object {
  const { core, at, protectors, held, replicas, tombstones, waiting, unread, cells } = look;
  const refusals = refusalsOf(look.events ?? []);
  const forced = forcedOf(look.events ?? []);
  return {
    core,
    at: formatMicroTime(at),
    protectors: protectors?.standings.map((one) => {
      const key = objectKey(one.namespace, one.name);
      return standingJson(one, refusals.get(key), forced.get(key));
    }),
    unusable: protectors?.unusable,
    cells: cellsJson(look).cells,
    generator:
      cells?.observer === undefined
        ? undefined
        : {
            holder: cells.observer.lease.holderIdentity,
            heardAgoMs: cells.observer.glance.heardAgoMs,
            version: cells.observer.lease.productVersion,
          },
    replicas,
    held: held?.held.map(({ cause, since }) => ({ cause, since: formatMicroTime(since) })),
    tombstones: tombstones.map(({ protector, uid, isSaidToBeOver }) => ({ protector, uid, isSaidToBeOver })),
    released: releasesOf(look.events ?? [], 0 as EpochMicros).map(({ protector, message, at: releasedAt }) => ({
      protector,
      message,
      at: formatMicroTime(releasedAt),
    })),
    waitingForGenerator: waiting.map(({ kind, namespace, name, deletedAt }) => ({
      kind,
      namespace,
      name,
      deletedAt: deletedAt === undefined ? undefined : formatMicroTime(deletedAt),
    })),
    definition: look.definition,
    unread,
  };
}

/** Also for `explain`. */
export function standingJson(standing: Standing, refused: Refusals | undefined, forced: Refusals | undefined): object {
  const { namespace, name, mustStay, available, promised, free, states, figures } = standing;
  return {
    namespace,
    name,
    mustStay,
    available,
    promised,
    free: free ?? null,
    states,
    isWrong: states.some(isWrong),
    cells: figures.cells.map(({ cellID, counts, silentForMs, last, unconfirmed }) => ({
      cell: cellID,
      counts,
      available: last,
      promised: unconfirmed,
      silentForMs,
    })),
    refused: refused?.count ?? 0,
    refusedCallers: refused?.callers ?? [],
    lastRefusedAt: refused?.lastAt === undefined ? undefined : formatMicroTime(refused.lastAt),
    forced: forced?.count ?? 0,
    forcedCallers: forced?.callers ?? [],
    lastForcedAt: forced?.lastAt === undefined ? undefined : formatMicroTime(forced.lastAt),
  };
}
