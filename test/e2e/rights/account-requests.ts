/** What Podseidon's accounts asked the API servers for, from the audit logs, against what the manifests allow them. */
import { type Manifest } from "../../manifests/manifest-files.ts";
import { resourceName, rightsIn } from "../../manifests/rights/rights.ts";
import { type AuditEvent, readAuditEvents } from "../clusters/audit-log.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";

const accountPrefix = `system:serviceaccount:${systemNamespace}:`;

/** Reads what the accounts ask for from the moment it is made. */
export class AccountRequests {
  readonly #cluster: Cluster;
  readonly #earlier: number;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#earlier = readEvents(cluster).length;
  }

  /** What was refused for want of a right, as "account: verb resource". */
  forbidden(): readonly string[] {
    return [
      ...new Set(
        this.#events()
          .filter(({ responseStatus }) => responseStatus?.code === 403)
          .map(textOf),
      ),
    ];
  }

  /** The rights in `objects`, as "account: verb resource", split by whether a request needed them. */
  rights(objects: readonly Manifest[]): { readonly used: readonly string[]; readonly unused: readonly string[] } {
    const asked = new Set(this.#events().map(textOf));
    const all = rightsIn(objects).flatMap(({ account, verbs, resource }) =>
      verbs.map((verb) => `${account}: ${verb} ${resource}`),
    );
    const rights = [...new Set(all)];
    return { used: rights.filter((right) => asked.has(right)), unused: rights.filter((right) => !asked.has(right)) };
  }

  #events(): readonly AuditEvent[] {
    return readEvents(this.#cluster).slice(this.#earlier);
  }
}

function readEvents(cluster: Cluster): readonly AuditEvent[] {
  return readAuditEvents(cluster).filter(({ user }) => user.username.startsWith(accountPrefix));
}

function textOf({ verb, user, objectRef }: AuditEvent): string {
  const account = user.username.replace(accountPrefix, "");
  if (objectRef === undefined) return `${account}: ${verb}`;
  const { apiGroup = "", resource, subresource } = objectRef;
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${account}: ${verb} ${resourceName(apiGroup, path)}`;
}
