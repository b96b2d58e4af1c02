/**
 * The cold start of an aggregator: 100,000 pods from the API server into the compact store, as protobuf against JSON.
 */
import { messageOf, startChild } from "../processes/child.ts";
import { type Encoding } from "./pod-template.ts";
import { type Row } from "../row.ts";

const podsCount = 100_000;
/** Measured 2 to 6 s, and 19 s while other jobs held both cores. */
const limitMs = 60_000;

interface Figures {
  readonly pods: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
}

export async function measurePodLists(say: (line: string) => void): Promise<Row[]> {
  const server = startChild(new URL("pod-server.ts", import.meta.url), [String(podsCount)]);
  try {
    const { port, podBytes } = await messageOf<{ port: number; podBytes: Record<Encoding, number> }>(server, limitMs);
    const rows: Row[] = [];
    for (const [path, method] of [
      ["stream", "WatchList"],
      ["pages", "pages of 500"],
    ]) {
      const read = async (encoding: Encoding): Promise<Figures> => {
        say(`cold list of pods by ${method}: ${encoding}`);
        const args = [`http://127.0.0.1:${port}/${path}`, encoding];
        const reader = startChild(new URL("pod-reader.ts", import.meta.url), args);
        try {
          const figures = await messageOf<Figures>(reader, limitMs);
          if (figures.pods !== podsCount) throw new Error(`${figures.pods} pods were read`);
          return figures;
        } finally {
          reader.disconnect();
        }
      };
      const [json, protobuf] = [await read("json"), await read("protobuf")];
      rows.push({
        what: `cold list of ${podsCount / 1000}k pods by ${method} into the compact store, protobuf`,
        figure: described(protobuf, podBytes.protobuf),
        comparedWith: `JSON ${described(json, podBytes.json)}`,
        // Of CPU time: the server competes for the same cores.
        ratio: json.cpuMs / protobuf.cpuMs,
      });
    }
    return rows;
  } finally {
    server.disconnect();
  }
}

function described({ wallMs, cpuMs, peakBytes }: Figures, podBytes: number): string {
  const received = Math.round((podsCount * podBytes) / 1e6);
  return (
    `${(wallMs / 1000).toFixed(1)} s (CPU ${(cpuMs / 1000).toFixed(1)} s), ${received} MB, peak ` +
    `${Math.round(peakBytes / 1e6)} MB`
  );
}
