/** Clocks that are far off: of this machine, of API servers, and of whoever renews a Lease. */
import { ageText } from "../../text/format.ts";
import { type CoreFacts, type Facts, type LeaseFacts } from "../facts.ts";
import { type Finding, ok, type Remedy, unchecked, warn } from "../finding.ts";

/** A request may take some, times of API servers have whole seconds, and NTP keeps clocks within a fraction of one. */
const offSeconds = 10;

const remedy: Remedy = {
  cure: "set it by NTP. Certificates, tokens and keep-until are judged by these clocks, and ages in messages are wrong",
  page: "docs/cells.md#keep-a-cell",
};

export function clockFindings({ cores, workers }: Pick<Facts, "cores" | "workers">): readonly Finding[] {
  const clusters = [...new Map([...cores, ...workers].map((one) => [one.name, one.clock])).entries()];
  const findings: Finding[] = [];
  const ahead = new Map<string, number>();
  for (const [name, clock] of clusters) {
    if (clock.ok) ahead.set(name, (clock.value.server - clock.value.own) / 1_000_000);
    else findings.push(unchecked("clock", `the clock of ${name}`, clock.why));
  }
  findings.push(...ofServers(ahead), ...cores.flatMap(ofHolders));
  if (findings.length > 0 || ahead.size === 0) return findings;
  return [ok("clock", `clocks of this machine, ${[...ahead.keys()].join(", ")} agree`)];
}

/** `ahead`: of this machine, in seconds. */
function ofServers(ahead: ReadonlyMap<string, number>): readonly Finding[] {
  const off = [...ahead].filter(([, seconds]) => Math.abs(seconds) > offSeconds);
  if (off.length === 0) return [];
  const values = [...ahead.values()];
  const doServersAgree = Math.max(...values) - Math.min(...values) <= offSeconds;
  // One server against this machine: nobody can say which is wrong, and the server's matters more.
  if (doServersAgree) {
    const [first = 0] = values;
    return [warn("clock", `the clock of this machine is ${aheadText(-first)} that of the API servers`, remedy)];
  }
  return off.map(([name, seconds]) =>
    warn("clock", `the clock of the API server of ${name} is ${aheadText(seconds)} that of this machine`, remedy),
  );
}

/** Whoever renews Leases in the core: each write carries its clock, and the API server's beside it. */
function ofHolders({ name, heartbeats, generator, clock }: CoreFacts): readonly Finding[] {
  const holders: (readonly [string, LeaseFacts])[] = [];
  if (heartbeats.ok)
    for (const cell of heartbeats.value.cells) holders.push([`aggregator of cell "${cell.cellID}"`, cell]);
  if (generator.ok && generator.value !== undefined) holders.push(["generator", generator.value]);
  return holders.flatMap(([who, { renewedAt, writtenAt }]) => {
    if (renewedAt === undefined) return [];
    // Without the server's time of the write only a clock that is ahead can be told from a Lease that is old.
    const reference = writtenAt ?? (clock.ok ? Math.min(clock.value.server, renewedAt) : renewedAt);
    const seconds = (renewedAt - reference) / 1_000_000;
    if (Math.abs(seconds) <= offSeconds) return [];
    return [
      warn("clock", `the clock of the ${who} is ${aheadText(seconds)} that of the API server of ${name}`, remedy),
    ];
  });
}

function aheadText(seconds: number): string {
  return `${ageText(Math.abs(seconds) * 1_000)} ${seconds > 0 ? "ahead of" : "behind"}`;
}
