/**
 * What belongs to Podseidon in a cluster, and to nobody else: the objects of the manifests by their label and name,
 * what the roles make by its name, and the Secrets of docs/install.md.
 */
import { cellLeaseLabels } from "../../api/cell-lease.ts";
import { fieldsOf, type Json } from "../../api/json.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import {
  customResourceDefinitions,
  leases,
  namespaces,
  pods,
  validatingWebhookConfigurations,
} from "../../kube/resources.ts";
import { isOurConfiguration } from "../check/readers/webhook-entries.ts";
import { deployments } from "../fleet/replicas.ts";
import { find, type Found, type Kind, type Site, together } from "./target.ts";

const nameLabel = "app.kubernetes.io/name";
const ours = "podseidon";
const labelSelector = `${nameLabel}=${ours}`;
const othersSelector = `${nameLabel}!=${ours}`;

function kindOf(kind: string, group: string, version: string, resource = `${kind.toLowerCase()}s`): Kind {
  return { kind, resource: { group, version, resource } };
}

const deploymentKind: Kind = { kind: "Deployment", resource: deployments };
const podKind: Kind = { kind: "Pod", resource: pods };
const namespaceKind: Kind = { kind: "Namespace", resource: namespaces };
export const definitionKind: Kind = { kind: "CustomResourceDefinition", resource: customResourceDefinitions };
const configurationKind: Kind = { kind: "ValidatingWebhookConfiguration", resource: validatingWebhookConfigurations };
const leaseKind: Kind = { kind: "Lease", resource: leases };
const configMapKind = kindOf("ConfigMap", "", "v1");
const secretKind = kindOf("Secret", "", "v1");
const serviceAccountKind = kindOf("ServiceAccount", "", "v1");
const roleKind = kindOf("Role", "rbac.authorization.k8s.io", "v1");
const roleBindingKind = kindOf("RoleBinding", "rbac.authorization.k8s.io", "v1");
const networkPolicyKind = kindOf("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies");
const serviceKind = kindOf("Service", "", "v1");

/** Kinds of the manifests that only configure. Bindings go before what they bind. */
const labelledKinds: readonly Kind[] = [
  kindOf("ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io", "v1"),
  kindOf("ValidatingAdmissionPolicy", "admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
  kindOf("PodMonitor", "monitoring.coreos.com", "v1"),
  kindOf("PrometheusRule", "monitoring.coreos.com", "v1"),
  networkPolicyKind,
  kindOf("PodDisruptionBudget", "policy", "v1"),
  serviceKind,
  roleBindingKind,
  kindOf("ClusterRoleBinding", "rbac.authorization.k8s.io", "v1"),
  roleKind,
  kindOf("ClusterRole", "rbac.authorization.k8s.io", "v1"),
  serviceAccountKind,
  kindOf("ResourceQuota", "", "v1"),
  configMapKind,
  secretKind,
];

/** In a namespace of ours, these keep it when they are of others. */
const keepingKinds: readonly Kind[] = [
  podKind,
  deploymentKind,
  kindOf("StatefulSet", "apps", "v1"),
  kindOf("DaemonSet", "apps", "v1"),
  kindOf("Job", "batch", "v1"),
  kindOf("CronJob", "batch", "v1"),
  kindOf("PersistentVolumeClaim", "", "v1"),
  kindOf("Ingress", "networking.k8s.io", "v1", "ingresses"),
  networkPolicyKind,
  serviceKind,
  serviceAccountKind,
  roleKind,
  roleBindingKind,
  configMapKind,
  secretKind,
  leaseKind,
];

interface Metadata {
  readonly name: string;
  readonly labels: Json;
  readonly annotations: Json;
}

function metadataOf(raw: Json): Metadata {
  const { name, labels, annotations: notes } = fieldsOf(raw["metadata"]);
  return { name: String(name), labels: fieldsOf(labels), annotations: fieldsOf(notes) };
}

/** By both: another program may have our label. */
function hasOurName(raw: Json): boolean {
  return metadataOf(raw).name.startsWith(ours);
}

/** Those that send deletions to a webhook of Podseidon. */
export function findConfigurations(site: Site): Promise<Found> {
  return find(site, configurationKind, isOurConfiguration);
}

/** The Deployments of the roles. */
export function findPrograms(site: Site): Promise<Found> {
  return find(site, deploymentKind, hasOurName, { labelSelector });
}

/** The pods of the generator, which may still be at work. */
export function findGeneratorPods(site: Site): Promise<Found> {
  const selector = `${labelSelector},app.kubernetes.io/component=generator`;
  return find(site, podKind, hasOurName, { namespace: site.namespace, labelSelector: selector });
}

export function findNamespaces(site: Site): Promise<Found> {
  return find(site, namespaceKind, hasOurName, { labelSelector });
}

/** The pods of update-triggers: in namespaces of ours, where we have a Role, and where the flag is not given. */
export async function findDummyPods(site: Site): Promise<Found> {
  const places = together([await findNamespaces(site), await find(site, roleKind, hasOurName, { labelSelector })]);
  const names = places.targets.map(({ kind, namespace, name }) => (kind === "Namespace" ? name : (namespace ?? name)));
  const searched = [...new Set([...names, site.namespace, "default"])];
  const found = await Promise.all(
    searched.map((namespace) => find(site, podKind, (raw) => isDummyPod(metadataOf(raw)), { namespace })),
  );
  return together([{ targets: [], obstacles: places.obstacles }, ...found]);
}

function isDummyPod({ name, annotations: notes }: Metadata): boolean {
  return name.startsWith(ours) && notes[annotations.updateTriggerTime] !== undefined;
}

/** Rights, policies, configuration and state. */
export async function findSettings(site: Site): Promise<Found> {
  const labelled = await Promise.all(labelledKinds.map((kind) => find(site, kind, hasOurName, { labelSelector })));
  const { namespace } = site;
  const named = await Promise.all(
    [leaseKind, configMapKind, secretKind].map((kind) =>
      find(site, kind, (raw) => isNamed(kind, raw), { namespace, labelSelector: othersSelector }),
    ),
  );
  return together([...labelled, ...named]);
}

/** In our own namespace: what roles make, and what people make by docs/install.md. */
function isNamed(kind: Kind, raw: Json): boolean {
  const { name, labels } = metadataOf(raw);
  return name.startsWith(`${ours}-`) || (kind === leaseKind && labels[cellLeaseLabels.heartbeat] !== undefined);
}

/** Objects of others in a namespace of ours, of the usual kinds and of the given custom ones. */
export async function findOthers(site: Site, namespace: string, custom: readonly Kind[]): Promise<Found> {
  const isOwnSystem = namespace === site.namespace;
  const found = await Promise.all(
    [...keepingKinds, ...custom].map((kind) =>
      find(site, kind, (raw) => !isKubernetes(kind, raw) && !isUnlabelledOurs(kind, raw, isOwnSystem), {
        namespace,
        labelSelector: othersSelector,
      }),
    ),
  );
  return together(found);
}

/** Kubernetes makes these in every namespace. */
function isKubernetes({ kind }: Kind, raw: Json): boolean {
  const { name } = metadataOf(raw);
  return (kind === "ConfigMap" && name === "kube-root-ca.crt") || (kind === "ServiceAccount" && name === "default");
}

function isUnlabelledOurs(kind: Kind, raw: Json, isOwnSystem: boolean): boolean {
  const metadata = metadataOf(raw);
  if (kind === podKind) return isDummyPod(metadata);
  if (isOwnSystem && [leaseKind, configMapKind, secretKind].includes(kind) && isNamed(kind, raw)) return true;
  // People bind our roles to themselves.
  if (kind === roleBindingKind) return String(fieldsOf(raw["roleRef"])["name"]).startsWith(ours);
  const account = metadata.annotations["kubernetes.io/service-account.name"];
  return kind === secretKind && typeof account === "string" && account.startsWith(ours);
}
