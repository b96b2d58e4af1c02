/** Reads what `podseidon install` has noted of the tokens that other clusters have of our accounts, and no Secret. */
import { fieldsOf } from "../../../api/json.ts";
import { parseTime } from "../../../api/micro-time.ts";
import { annotations } from "../../../api/v1alpha1/names.ts";
import { type KubeClient } from "../../../kube/kube-client.ts";
import { listed } from "../../clusters/reading.ts";
import { type Reading, type TokenFacts } from "../facts.ts";
import { serviceAccounts } from "./account-rights.ts";
import { type Reader, readInTime } from "./deadline.ts";

export function readTokens(
  client: KubeClient,
  namespace: string,
  reader: Reader,
): Promise<Reading<readonly TokenFacts[]>> {
  const access = { cluster: client.cluster, verb: "list", resource: serviceAccounts, namespace } as const;
  const decode = (raw: unknown): TokenFacts | undefined => {
    const { name, annotations: given } = fieldsOf(fieldsOf(raw)["metadata"]);
    const text = fieldsOf(given)[annotations.handedToken];
    return typeof text === "string" ? { account: String(name), validity: readValidity(text) } : undefined;
  };
  const scope = { resource: serviceAccounts, namespace };
  return readInTime(access, reader, (signal) => listed(client, scope, decode, { signal }));
}

function readValidity(text: string): TokenFacts["validity"] {
  const [from, to] = text.split("/").map(parseTime);
  return from === undefined || to === undefined ? undefined : { from, to };
}
