/** Clocks that are far off: of this machine, of API servers, of nodes, and of whoever else renews a Lease. */
import { ageText } from "../../text/format.ts";
import { type CoreFacts, type Facts, type LeaseFacts, type WorkerFacts } from "../facts.ts";
import { type Finding, ok, type Remedy, unchecked, warn } from "../finding.ts";

/** A request may take some, times of API servers have whole seconds, and NTP keeps clocks within a fraction of one. */
const offSeconds = 10;

const remedy: Remedy = {
  cure: "set it by NTP. Certificates, tokens and keep-until are judged by these clocks, and ages in messages are wrong",
  page: "docs/cells.md#keep-a-cell",
};

const nodeRemedy: Remedy = {
  cure: "set them by NTP. By a clock that is behind new pods are available too early, and where it is ahead, late",
  page: "docs/accounting.md#ready-times",
};

/** Nodes in a line, so that a person can read it. */
const namedMax = 5;

export function clockFindings({ cores, workers }: Pick<Facts, "cores" | "workers">): readonly Finding[] {
  const clusters = [...new Map([...cores, ...workers].map((one) => [one.name, one.clock])).entries()];
  const findings: Finding[] = [];
  const ahead = new Map<string, number>();
  for (const [name, clock] of clusters) {
    if (clock.ok) ahead.set(name, (clock.value.server - clock.value.own) / 1_000_000);
    else findings.push(unchecked("clock", `the clock of ${name}`, clock.why));
  }
  findings.push(...ofServers(ahead), ...cores.flatMap(ofHolders), ...workers.flatMap(ofNodes));
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
  return holders.flatMap(([who, lease]) => {
    const seconds = aheadSeconds(lease, clock);
    if (Math.abs(seconds) <= offSeconds) return [];
    return [
      warn("clock", `the clock of the ${who} is ${aheadText(seconds)} that of the API server of ${name}`, remedy),
    ];
  });
}

/** Nodes by the clocks of their kubelets: most wrong ones are wrong together, so the worst are named. */
function ofNodes({ name, nodes, clock }: WorkerFacts): readonly Finding[] {
  if (!nodes.ok) return [unchecked("clock", `the clocks of the nodes of ${name}`, nodes.why)];
  const off = nodes.value
    .map((node) => ({ node: node.name, seconds: aheadSeconds(node, clock) }))
    .filter(({ seconds }) => Math.abs(seconds) > offSeconds)
    .toSorted((a, b) => Math.abs(b.seconds) - Math.abs(a.seconds));
  if (off.length === 0) return [];
  const named = off.slice(0, namedMax).map(({ node, seconds }) => `${node} (${aheadText(seconds)} it)`);
  const more = off.length > namedMax ? `, and ${off.length - namedMax} others` : "";
  const subject = off.length === 1 ? "1 node differs" : `${off.length} nodes differ`;
  const text = `clocks of ${subject} from that of the API server of ${name}: ${named.join(", ")}${more}`;
  return [warn("clock", text, nodeRemedy)];
}

/** Whoever renews a Lease before the API server. */
function aheadSeconds({ renewedAt, writtenAt }: LeaseFacts, clock: CoreFacts["clock"]): number {
  if (renewedAt === undefined) return 0;
  // Without the server's time of the write only a clock that is ahead can be told from a Lease that is old.
  const reference = writtenAt ?? (clock.ok ? Math.min(clock.value.server, renewedAt) : renewedAt);
  return (renewedAt - reference) / 1_000_000;
}

function aheadText(seconds: number): string {
  return `${ageText(Math.abs(seconds) * 1_000)} ${seconds > 0 ? "ahead of" : "behind"}`;
}
