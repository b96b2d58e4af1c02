/** Ports of loopback that the system chooses. Another program can take one before it is used: whoever listens on it must be ready to ask again. */
import { createServer, type Server } from "node:net";
import { once } from "node:events";

/** `count` different ports that were free a moment ago. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers: Server[] = [];
  try {
    for (let index = 0; index < count; index++) {
      const server = createServer().listen(0, "127.0.0.1");
      servers.push(server);
      await once(server, "listening");
    }
    return servers.map(portOf);
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
