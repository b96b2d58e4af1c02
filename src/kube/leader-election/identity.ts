/** The name under which a process holds a Lease. */
import { hostname } from "node:os";
import { randomHex, type Rng } from "../../util/rng.ts";

/** `<hostname>_<32 hexadecimal digits>`: shows people the pod, and differs between two processes on one host. */
export function createIdentity(rng: Rng): string {
  return `${hostname()}_${randomHex(rng, 32)}`;
}
