/**
 * A small TCP balancer, in the place of a Service: each connection goes to the next webhook replica that accepts it.
 */
import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

export interface Balancer {
  readonly url: string;
  close(): Promise<void>;
}

// A connection to loopback takes less than a millisecond.
const connectTimeoutMs = 1000;

async function tryConnect(port: number): Promise<Socket | undefined> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(connectTimeoutMs) });
    return socket;
  } catch {
    socket.destroy();
    return undefined; // the next replica may live
  }
}

/**
 * Listens on a port that the system chooses and spreads connections in turn over the ports that `readPorts` returns,
 * which is asked for each connection.
 */
export async function startBalancer(readPorts: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // "close" follows an error and does the rest.
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const serve = async (client: Socket): Promise<void> => {
    keep(client);
    const ports = readPorts();
    for (let attempt = 0; attempt < ports.length; attempt += 1) {
      const target = await tryConnect(ports[turn++ % ports.length]!);
      if (target === undefined) continue;
      keep(target);
      client.on("close", () => target.destroy());
      target.on("close", () => client.destroy());
      if (client.destroyed) target.destroy();
      client.pipe(target).pipe(client);
      return;
    }
    client.destroy();
  };
  const server = createServer((client) => void serve(client));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
