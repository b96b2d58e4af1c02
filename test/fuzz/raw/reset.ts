/** Ends a connection with RST. */
import { type Socket } from "node:net";

/**
 * Destroys the socket, which then closes; the peer is told by RST. By FIN when that is on its way: libuv refuses to
 * reset a socket while it is shut down, and Node then neither closes it nor says so. `writer`: what writes to the
 * socket, if that is TLS over it.
 */
export function reset(socket: Socket, writer: Socket = socket): void {
  if (!writer.writableEnded || writer.writableFinished) socket.resetAndDestroy();
  socket.destroy();
}
