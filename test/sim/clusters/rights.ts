/**
 * The accounts of upstream's chart: what only heartbeats and the gate probe need is forbidden, and all else goes on as
 * before (docs/compatibility.md). For a server's `lasting` faults.
 */
import { type RestRequest } from "../../double/rest/rest.ts";
import { type ServerFault } from "./conditions.ts";

/** Of a worker: which cluster it is, and whether deletions are reviewed. */
export function forbiddenInWorker(request: RestRequest): ServerFault | undefined {
  return request.path === "/api/v1/namespaces/kube-system" ? { type: "forbidden" } : forbiddenToProbe(request);
}

/** Of a worker: what would become of the dummy pod's deletion. */
export function forbiddenToProbe({ method, path }: RestRequest): ServerFault | undefined {
  return method === "DELETE" && path.endsWith("/pods/podseidon-update-trigger") ? { type: "forbidden" } : undefined;
}

/** Of the core: the Leases of cells. A generator may use Leases there, since it elects its leader by one. */
export function forbiddenInCore({ path, userAgent }: RestRequest): ServerFault | undefined {
  const isElection = userAgent.startsWith("generator");
  return path.includes("/leases") && !isElection ? { type: "forbidden" } : undefined;
}
