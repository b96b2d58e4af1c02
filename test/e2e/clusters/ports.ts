/**
 * Ports of loopback that the system chooses. Another program can take one before it is used: its user must
 * be ready to ask again.
 */
import { createServer, type Server } from "node:net";
import { once } from "node:events";

/** Ports given out in this run: the system would give one again to the next who asks before its first owner listens. */
const given = new Set<number>();

/**
 * `count` different ports that were free on all addresses a moment ago, and that nobody in this process was given
 * before.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  try {
    while (ports.length < count) {
      const server = createServer().listen(0);
      servers.push(server);
      await once(server, "listening");
      const port = portOf(server);
      if (given.has(port)) continue;
      given.add(port);
      ports.push(port);
    }
    return ports;
  } finally {
    for (const server of servers) server.close();
  }
}

/** The port of a listening TCP server. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not a listening TCP server");
  return address.port;
}

/** True when a program's log says that its port was taken (Go and Node wordings). */
export function isPortTaken(log: string): boolean {
  return /address already in use|EADDRINUSE/.test(log);
}
