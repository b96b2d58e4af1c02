/**
 * The attacks, as they once shut out API servers or ended a replica, each at `factor` times that rate. One that is
 * answered or cut off begins again at once, within its rate.
 */
import { setTimeout as delay } from "node:timers/promises";
import { costlyReviews, eviction, ofCell, unfinished } from "./bodies.ts";
import { type Strangers } from "./strangers.ts";

export interface Attack {
  readonly name: string;
  readonly what: string;
  readonly run: (strangers: Strangers, factor: number) => Promise<void>;
}

const megabyte = 1024 * 1024;

export const attacks: readonly Attack[] = [
  {
    name: "S2",
    what: "bodies of 7 MiB that cost 35 times as much parsed, 4 connections",
    async run(strangers, factor) {
      const bodies = costlyReviews();
      await strangers.repeat(4 * factor, Number.POSITIVE_INFINITY, (turn) => bodies[turn % bodies.length]!);
    },
  },
  {
    name: "S4",
    what: "bodies that never end, 72 connections, 6.7 MB/s",
    async run(strangers, factor) {
      const sizes = [7, 7, 4, 2, 1, 0.2, 0.03].map((size) => Math.floor(size * megabyte));
      const bodies = sizes.map(unfinished);
      await strangers.repeat(72 * factor, 6.7e6 * factor, (turn) => bodies[turn % bodies.length]!);
    },
  },
  {
    name: "S5",
    what: "5,100 idle connections, opened again at 500/s",
    async run(strangers, factor) {
      const starts = [
        "",
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /worker-a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
      ];
      const bytes = starts.map((start) => Buffer.from(start));
      // A rate of connections: each counts as one byte.
      await strangers.repeat(5_100 * factor, 500 * factor, (turn) => bytes[turn % bytes.length]!, 1);
    },
  },
  {
    name: "S6",
    what: "nested JSON, 44 connections, 8.4 MB/s",
    async run(strangers, factor) {
      const bodies = costlyReviews();
      await strangers.repeat(44 * factor, 8.4e6 * factor, (turn) => bodies[turn % bodies.length]!);
    },
  },
  {
    name: "S9",
    what: "1,000 cells x 6 kinds of body, 2,500 requests/s",
    async run(strangers, factor) {
      const names = Array.from(
        { length: 1_000 },
        (_, index) => `cell-${index}-${"x".repeat(index % 2 === 0 ? 40 : 500)}`,
      );
      await strangers.repeat(100 * factor, 2_500 * factor, (turn) => ofCell(names[turn % 1_000]!, turn), 1);
    },
  },
  {
    name: "S11",
    what: "forged evictions, 200 connections",
    run: (strangers, factor) => strangers.repeat(200 * factor, Number.POSITIVE_INFINITY, eviction),
  },
  {
    name: "none",
    what: "nobody attacks, for comparison",
    run: (strangers) => delay(strangers.leftMs),
  },
];
