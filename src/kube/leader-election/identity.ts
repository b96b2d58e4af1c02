/** The name under which a process holds a Lease. */
import { hostname } from "node:os";
import { randomHex, type Rng } from "../../util/rng.ts";

/** `<hostname>_<32 hexadecimal digits>`: tells people the pod, and two processes on one host apart. */
export function createIdentity(rng: Rng): string {
  return `${hostname()}_${randomHex(rng, 32)}`;
}
