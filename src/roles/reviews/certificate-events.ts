/** Certificates that end, as Events on the Deployment of the webhook: there people look without reading logs. */
import { asObject } from "../../api/json.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { quoteNames } from "../../server/index.ts";
import { type EndingCertificate } from "../../util/certificate-use.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
/** One small object. */
const timeoutMs = 5_000;

export interface OwnDeployment {
  readonly namespace: string;
  readonly name: string;
}

/**
 * What is to be called with each certificate that ends. Best effort: without the right to read the Deployment, or when
 * it cannot be read, the Event has no UID, so that `kubectl describe` does not show it, but `kubectl get events` does.
 */
export function createCertificateEvents(
  deployment: OwnDeployment,
  client: KubeClient,
  events: EventRecorder,
): (ending: EndingCertificate) => void {
  let uid: Promise<string | undefined> | undefined;
  return (ending) => {
    uid ??= readUid(deployment, client);
    void uid.then((known) => {
      // Made again since, or not there yet: asked for again the next time.
      uid = undefined;
      const { use, subject, expires, hasExpired } = ending;
      const reason = hasExpired ? "CertificateExpired" : "CertificateExpiresSoon";
      const verb = hasExpired ? "expired" : "expires";
      const message = `A certificate of the ${use}, ${quoteNames([subject])}, ${verb} at ${expires.toISOString()}`;
      events.record(
        { apiVersion: "apps/v1", kind: "Deployment", ...deployment, uid: known },
        "Warning",
        reason,
        message,
      );
    });
  };
}

/** Undefined = it cannot be read. */
async function readUid(deployment: OwnDeployment, client: KubeClient): Promise<string | undefined> {
  try {
    const path = resourcePath(deployments, deployment);
    const read = asObject(await client.request({ method: "GET", path, timeoutMs }));
    const uid = asObject(read?.["metadata"])?.["uid"];
    return typeof uid === "string" ? uid : undefined;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return undefined;
  }
}
