/** Plays the LISTs of cell-silence.txt, whose head says how they are written. */
import assert from "node:assert/strict";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { at } from "../../../support/moment.ts";
import { lease, LeaseLists, timeOf } from "./lease-lists.ts";

export interface Play {
  readonly name: string;
  readonly lines: readonly string[];
}

/** The plays of a text: each begins with a line "== name". */
export function playsOf(text: string): readonly Play[] {
  const [, ...plays] = text.split(/^== /m);
  return plays.map((play) => {
    const [name = "", ...lines] = play.trimEnd().split("\n");
    return { name, lines };
  });
}

const marks: Readonly<Record<string, (value: string) => Partial<CellLease>>> = {
  silent: (seconds) => ({ silentSince: timeOf(Number(seconds)) }),
  keep: (seconds) => ({ keepUntil: timeOf(Number(seconds)) }),
  behind: (uids) => ({ behind: uids === "" ? "no base64" : packDigests(uids.split("/").map(digestOfUID)) }),
  touched: () => ({ resourceVersion: "7", productVersion: "other", uid: "new" }),
};

function leasesOf(text: string): readonly CellLease[] {
  return [...text.matchAll(/([abg])(\d+)(?:\[(.*?)\])?/g)].map(([, cell, beat = "", changes = ""]) => {
    const all = changes.split(" ").map((change) => {
      const [name = "", value = ""] = change.split("=");
      return name === "" ? {} : marks[name]!(value);
    });
    return lease(cell === "g" ? undefined : cell, beat, Object.assign({}, ...all) as Partial<CellLease>);
  });
}

/** Plays one line, and looks at what it expects. */
function playLine(lists: LeaseLists, line: string): void {
  const [what = "", expected = ""] = line.split("=> ");
  const [verb = "", first = "", second = ""] = what.trim().split(" ");
  const list = /^(\.\.)?([\d.]+?)(?:\+(\d+))?$/.exec(verb);
  if (list !== null) {
    const [, isUntil, seconds, answeredAfter] = list;
    const leases = leasesOf(what.slice(verb.length));
    const isWritten = !what.includes(" full");
    if (isUntil === undefined)
      lists.list(Number(seconds), leases, { answeredAfter: Number(answeredAfter ?? 0), isWritten });
    else lists.listUntil(Number(seconds), leases, { isWritten });
  } else if (verb === "denied") lists.silence.denied(at(Number(first) * 1000));
  else if (verb === "counted") lists.silence.countedByOther(first, at(Number(second) * 1000));
  else if (verb === "slept") lists.sleptSeconds += Number(first);
  else if (verb === "at") lists.seconds = Number(first);
  else assert.equal(verb, "", line);
  for (const one of expected === "" ? [] : expected.split(", ")) {
    const [, cell = "", uid, state = ""] = /^(\w)(?:\/(\w+))? (.+)$/.exec(one) ?? [];
    if (state === "") assert.equal(lists.isDecided(), { decided: true, undecided: false }[one], line);
    else assert.equal(lists.state(cell, uid), state, line);
  }
}

export function play({ lines }: Play): void {
  const lists = new LeaseLists();
  for (const line of lines) playLine(lists, line);
}
