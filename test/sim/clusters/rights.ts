/**
 * The accounts of upstream's chart: what only heartbeats need is forbidden, and all else goes on as before
 * (docs/compatibility.md). For a server's `lasting` faults.
 */
import { type RestRequest } from "../../double/rest/rest.ts";
import { type ServerFault } from "./conditions.ts";

/** Of a worker: which cluster it is. */
export function forbiddenInWorker({ path }: RestRequest): ServerFault | undefined {
  return path === "/api/v1/namespaces/kube-system" ? { type: "forbidden" } : undefined;
}

/** Of the core: the Leases of cells. A generator may use Leases there, since it elects its leader by one. */
export function forbiddenInCore({ path, userAgent }: RestRequest): ServerFault | undefined {
  const isElection = userAgent.startsWith("generator");
  return path.includes("/leases") && !isElection ? { type: "forbidden" } : undefined;
}
