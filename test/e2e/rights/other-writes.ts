/** Writes of workloads, Leases and pods that accounts may and may not make in the stage of rights-stage.ts. */
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../src/api/cell-lease.ts";
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type AccountWrite, add, key, note, remove, replace } from "./account-write.ts";
import { type Stage, time } from "./rights-stage.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";

export function workloadWrites({ deploymentPath }: Stage): readonly AccountWrite[] {
  const by = "generator";
  const path = deploymentPath("web");
  return [
    { by, verdict: "allowed", what: "adds its finalizer", path, patch: [add("/metadata/finalizers/-", finalizer)] },
    {
      by,
      verdict: "policy",
      what: "runs another image",
      path,
      patch: [replace("/spec/template/spec/containers/0/image", "evil")],
    },
    { by, verdict: "policy", what: "scales a workload", path, patch: [replace("/spec/replicas", 0)] },
    { by, verdict: "policy", what: "labels a workload", path, patch: [add("/metadata/labels", { evil: "yes" })] },
    { by, verdict: "policy", what: "annotates a workload", path, patch: [add("/metadata/annotations/evil", "yes")] },
    {
      by,
      verdict: "policy",
      what: "removes the finalizer of another",
      path,
      patch: [replace("/metadata/finalizers", [finalizer])],
    },
    {
      by,
      verdict: "policy",
      what: "gives a workload an owner",
      path,
      patch: [add("/metadata/ownerReferences", [{ apiVersion: "v1", kind: "ConfigMap", name: "evil", uid: "1" }])],
    },
    {
      by,
      verdict: "rbac",
      what: "scales by the subresource",
      path: `${path}/scale`,
      patch: [replace("/spec/replicas", 0)],
    },
    { by, verdict: "rbac", what: "deletes a workload", path, remove: { dryRun: false } },
  ];
}

export function leaseWrites({ leasePath, leasesPath }: Stage): readonly AccountWrite[] {
  const [own, other] = [leasePath(cellLeaseName("worker-1")), leasePath(cellLeaseName("worker-2"))];
  const lease = (name: string, labels: Readonly<Record<string, string>> = {}): unknown => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: systemNamespace, labels },
    spec: { holderIdentity: "thief" },
  });
  const labels = (cell: string) => ({ [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cell });
  const eventsPath = `/api/v1/namespaces/${systemNamespace}/events`;
  const event = (name: string, changes: object = {}): unknown => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { generateName: "rights.", namespace: systemNamespace },
    involvedObject: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: systemNamespace, name },
    type: "Warning",
    reason: "Test",
    message: "a test",
    source: { component: "podseidon-aggregator" },
    ...changes,
  });
  const ownName = cellLeaseName("worker-1");
  const by = "aggregator-worker-1";
  const beat = replace("/spec/holderIdentity", "somebody");
  return [
    {
      by,
      verdict: "allowed",
      what: "beats",
      path: own,
      patch: [beat, remove(note(cellLeaseAnnotations.silentSince)), add(note(cellLeaseAnnotations.gate), "ok")],
    },
    { by, verdict: "rbac", what: "beats for another cell", path: other, patch: [beat] },
    // Where a cell is a part of the core itself, its aggregators elect their leader there.
    { by, verdict: "allowed", what: "makes its own", path: leasesPath, create: lease("podseidon-aggregator-worker-1") },
    {
      by,
      verdict: "policy",
      what: "makes the Lease of another cell",
      path: leasesPath,
      create: lease(cellLeaseName("worker-3"), labels("worker-3")),
    },
    {
      by,
      verdict: "policy",
      what: "makes further Leases for its cell",
      path: leasesPath,
      create: lease("cell-0123456789abcdef", labels("worker-1")),
    },
    { by, verdict: "policy", what: "labels its Lease", path: own, patch: [add("/metadata/labels/evil", "yes")] },
    {
      by,
      verdict: "policy",
      what: "makes the Lease of an election",
      path: leasesPath,
      create: lease("podseidon-other", labels("worker-1")),
    },
    {
      by,
      verdict: "policy",
      what: "lends its Lease to another cell",
      path: own,
      patch: [replace(`/metadata/labels/${key(cellLeaseLabels.cell)}`, "worker-2")],
    },
    {
      by,
      verdict: "policy",
      what: "prolongs what a person allowed",
      path: own,
      patch: [replace(note(cellLeaseAnnotations.keepUntil), "2099-01-01T00:00:00Z")],
    },
    {
      by,
      verdict: "policy",
      what: "takes back a retirement",
      path: own,
      patch: [remove(note(cellLeaseAnnotations.forget))],
    },
    {
      by,
      verdict: "policy",
      what: "keeps its Lease from being deleted",
      path: own,
      patch: [add("/metadata/finalizers", ["e2e.example.com/stay"])],
    },
    { by, verdict: "rbac", what: "deletes its Lease", path: own, remove: { dryRun: false } },
    { by, verdict: "allowed", what: "tells of its Lease", path: eventsPath, create: event(ownName) },
    {
      by,
      verdict: "policy",
      what: "tells of another Lease",
      path: eventsPath,
      create: event(cellLeaseName("worker-2")),
    },
    {
      by,
      verdict: "policy",
      what: "tells of a pod",
      path: eventsPath,
      create: event(ownName, {
        involvedObject: { apiVersion: "v1", kind: "Pod", namespace: systemNamespace, name: ownName },
      }),
    },
    {
      by,
      verdict: "policy",
      what: "speaks for the generator",
      path: eventsPath,
      create: event(ownName, { source: { component: "podseidon-generator" } }),
    },
    { by: "webhook", verdict: "rbac", what: "beats", path: own, patch: [beat] },
    {
      by: "generator",
      verdict: "allowed",
      what: "marks a silent cell",
      path: other,
      patch: [add(note(cellLeaseAnnotations.silentSince), time)],
    },
    {
      by: "generator",
      verdict: "allowed",
      what: "creates its own heartbeat",
      path: leasesPath,
      create: lease("podseidon-cell-observer"),
    },
    { by: "generator", verdict: "policy", what: "beats for a cell", path: other, patch: [beat] },
    {
      by: "generator",
      verdict: "policy",
      what: "keeps a silent cell",
      path: other,
      patch: [add(note(cellLeaseAnnotations.keepUntil), "2099-01-01T00:00:00Z")],
    },
    {
      by: "generator",
      verdict: "policy",
      what: "adopts a cell",
      path: other,
      patch: [add(note(cellLeaseAnnotations.adopt), "00000000-0000-0000-0000-000000000000")],
    },
    {
      by: "generator",
      verdict: "policy",
      what: "makes a cell",
      path: leasesPath,
      create: lease(cellLeaseName("worker-3"), labels("worker-3")),
    },
    {
      by: "generator",
      verdict: "policy",
      what: "changes the Lease of others",
      path: leasePath("foreign"),
      patch: [beat],
    },
    {
      by: "generator",
      verdict: "policy",
      what: "deletes the Lease of others",
      path: leasePath("foreign"),
      remove: { dryRun: false },
    },
    { by: "generator", verdict: "allowed", what: "deletes the Lease of a cell", path: other, remove: { dryRun: true } },
    {
      by: "generator",
      verdict: "policy",
      what: "creates a ConfigMap of another name",
      path: `/api/v1/namespaces/${systemNamespace}/configmaps`,
      create: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "forged" } },
    },
  ];
}

export function podWrites({ podPath, podsPath, dummyPath }: Stage): readonly AccountWrite[] {
  const by = "aggregator";
  const path = podPath("web");
  const status = `${path}/status`;
  const dummies = dummyPath.slice(0, dummyPath.lastIndexOf("/"));
  const pod = (name: string, spec: object): unknown => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "main", image: "evil" }], ...spec },
  });
  const nowhere = { schedulerName: "do-not-schedule" };
  const name = "podseidon-update-trigger";
  return [
    { by, verdict: "allowed", what: "fences a pod", path: status, patch: [add(note(annotations.fence), "1")] },
    {
      by,
      verdict: "policy",
      what: "takes the address of a pod",
      path: status,
      patch: [add("/status/podIP", "10.0.0.7")],
    },
    { by, verdict: "policy", what: "ends a pod", path: status, patch: [add("/status/phase", "Failed")] },
    { by, verdict: "policy", what: "makes a pod unready", path: status, patch: [replace("/status/conditions", [])] },
    { by, verdict: "policy", what: "labels a pod", path: status, patch: [replace("/metadata/labels/app", "other")] },
    {
      by,
      verdict: "policy",
      what: "lets a pod be deleted by force",
      path: status,
      patch: [add(note(annotations.forceDelete), "")],
    },
    {
      by,
      verdict: "policy",
      what: "removes an annotation of others",
      path: status,
      patch: [remove("/metadata/annotations/theirs")],
    },
    {
      by,
      verdict: "policy",
      what: "keeps a pod from ending",
      path: status,
      patch: [add("/metadata/finalizers", ["e2e.example.com/stay"])],
    },
    { by, verdict: "rbac", what: "labels a pod directly", path, patch: [replace("/metadata/labels/app", "other")] },
    { by, verdict: "rbac", what: "deletes a pod", path, remove: { dryRun: false } },
    { by, verdict: "rbac", what: "creates a pod elsewhere", path: podsPath, create: pod(name, nowhere) },
    {
      by,
      verdict: "allowed",
      what: "touches the dummy pod",
      path: dummyPath,
      patch: [add(note(annotations.updateTriggerTime), time)],
    },
    { by, verdict: "allowed", what: "tries to delete the dummy pod", path: dummyPath, remove: { dryRun: true } },
    {
      by,
      verdict: "policy",
      what: "labels the dummy pod",
      path: dummyPath,
      patch: [add("/metadata/labels", { app: "web" })],
    },
    {
      by,
      verdict: "policy",
      what: "changes the image of the dummy pod",
      path: dummyPath,
      patch: [replace("/spec/containers/0/image", "evil")],
    },
    { by, verdict: "policy", what: "runs a pod", path: dummies, create: pod(`${name}-2`, {}) },
    {
      by,
      verdict: "policy",
      what: "runs a pod on a node",
      path: dummies,
      create: pod(`${name}-2`, { ...nowhere, nodeName: "node-0" }),
    },
    // After others that this policy refuses, so that it is known to be in force.
    { by, verdict: "policy", what: "deletes the dummy pod", path: dummyPath, remove: { dryRun: false } },
    { by, verdict: "policy", what: "creates another pod", path: dummies, create: pod("evil", nowhere) },
    { by, verdict: "allowed", what: "creates a dummy pod", path: dummies, create: pod(`${name}-2`, nowhere) },
    { by: "webhook", verdict: "rbac", what: "fences a pod", path: status, patch: [add(note(annotations.fence), "1")] },
  ];
}
