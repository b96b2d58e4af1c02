/** Writes of workloads, Leases and pods that accounts may and may not make in the stage of rights-stage.ts. */
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../src/api/cell-lease.ts";
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type AccountWrite, add, key, note, remove, replace, patch, writesOf } from "./account-write.ts";
import { type Stage, time } from "./rights-stage.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";

export function workloadWrites({ deploymentPath }: Stage): readonly AccountWrite[] {
  const path = deploymentPath("web");
  return writesOf("generator", [
    ["allowed", "adds its finalizer", path, patch(add("/metadata/finalizers/-", finalizer))],
    ["policy", "runs another image", path, patch(replace("/spec/template/spec/containers/0/image", "evil"))],
    ["policy", "scales a workload", path, patch(replace("/spec/replicas", 0))],
    ["policy", "labels a workload", path, patch(add("/metadata/labels", { evil: "yes" }))],
    ["policy", "annotates a workload", path, patch(add("/metadata/annotations/evil", "yes"))],
    ["policy", "removes the finalizer of another", path, patch(replace("/metadata/finalizers", [finalizer]))],
    [
      "policy",
      "gives a workload an owner",
      path,
      patch(add("/metadata/ownerReferences", [{ apiVersion: "v1", kind: "ConfigMap", name: "evil", uid: "1" }])),
    ],
    ["rbac", "scales by the subresource", `${path}/scale`, patch(replace("/spec/replicas", 0))],
    ["rbac", "deletes a workload", path, { remove: { dryRun: false } }],
  ]);
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
  const beat = replace("/spec/holderIdentity", "somebody");
  return [
    ...writesOf("aggregator-worker-1", [
      [
        "allowed",
        "beats",
        own,
        patch(beat, remove(note(cellLeaseAnnotations.silentSince)), add(note(cellLeaseAnnotations.gate), "ok")),
      ],
      ["rbac", "beats for another cell", other, patch(beat)],
      // Where a cell is a part of the core itself, its aggregators elect their leader there.
      ["allowed", "makes its own", leasesPath, { create: lease("podseidon-aggregator-worker-1") }],
      [
        "policy",
        "makes the Lease of another cell",
        leasesPath,
        { create: lease(cellLeaseName("worker-3"), labels("worker-3")) },
      ],
      [
        "policy",
        "makes further Leases for its cell",
        leasesPath,
        { create: lease("cell-0123456789abcdef", labels("worker-1")) },
      ],
      ["policy", "labels its Lease", own, patch(add("/metadata/labels/evil", "yes"))],
      [
        "policy",
        "makes the Lease of an election",
        leasesPath,
        { create: lease("podseidon-other", labels("worker-1")) },
      ],
      [
        "policy",
        "lends its Lease to another cell",
        own,
        patch(replace(`/metadata/labels/${key(cellLeaseLabels.cell)}`, "worker-2")),
      ],
      [
        "policy",
        "prolongs what a person allowed",
        own,
        patch(replace(note(cellLeaseAnnotations.keepUntil), "2099-01-01T00:00:00Z")),
      ],
      ["policy", "takes back a retirement", own, patch(remove(note(cellLeaseAnnotations.forget)))],
      [
        "policy",
        "keeps its Lease from being deleted",
        own,
        patch(add("/metadata/finalizers", ["e2e.example.com/stay"])),
      ],
      ["rbac", "deletes its Lease", own, { remove: { dryRun: false } }],
      ["allowed", "tells of its Lease", eventsPath, { create: event(ownName) }],
      ["policy", "tells of another Lease", eventsPath, { create: event(cellLeaseName("worker-2")) }],
      [
        "policy",
        "tells of a pod",
        eventsPath,
        {
          create: event(ownName, {
            involvedObject: { apiVersion: "v1", kind: "Pod", namespace: systemNamespace, name: ownName },
          }),
        },
      ],
      [
        "policy",
        "speaks for the generator",
        eventsPath,
        { create: event(ownName, { source: { component: "podseidon-generator" } }) },
      ],
    ]),
    ...writesOf("webhook", [["rbac", "beats", own, patch(beat)]]),
    ...writesOf("generator", [
      ["allowed", "marks a silent cell", other, patch(add(note(cellLeaseAnnotations.silentSince), time))],
      ["allowed", "creates its own heartbeat", leasesPath, { create: lease("podseidon-cell-observer") }],
      ["allowed", "makes the Lease of observers", leasesPath, { create: lease("podseidon-cell-witness") }],
      ["policy", "beats for a cell", other, patch(beat)],
      [
        "policy",
        "keeps a silent cell",
        other,
        patch(add(note(cellLeaseAnnotations.keepUntil), "2099-01-01T00:00:00Z")),
      ],
      [
        "policy",
        "adopts a cell",
        other,
        patch(add(note(cellLeaseAnnotations.adopt), "00000000-0000-0000-0000-000000000000")),
      ],
      ["policy", "makes a cell", leasesPath, { create: lease(cellLeaseName("worker-3"), labels("worker-3")) }],
      ["policy", "changes the Lease of others", leasePath("foreign"), patch(beat)],
      ["policy", "deletes the Lease of others", leasePath("foreign"), { remove: { dryRun: false } }],
      ["allowed", "deletes the Lease of a cell", other, { remove: { dryRun: true } }],
      [
        "policy",
        "creates a ConfigMap of another name",
        `/api/v1/namespaces/${systemNamespace}/configmaps`,
        { create: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "forged" } } },
      ],
    ]),
  ];
}

export function podWrites({ podPath, podsPath, dummyPath }: Stage): readonly AccountWrite[] {
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
    ...writesOf("aggregator", [
      ["allowed", "fences a pod", status, patch(add(note(annotations.fence), "1"))],
      ["policy", "takes the address of a pod", status, patch(add("/status/podIP", "10.0.0.7"))],
      ["policy", "ends a pod", status, patch(add("/status/phase", "Failed"))],
      ["policy", "makes a pod unready", status, patch(replace("/status/conditions", []))],
      ["policy", "labels a pod", status, patch(replace("/metadata/labels/app", "other"))],
      ["policy", "lets a pod be deleted by force", status, patch(add(note(annotations.forceDelete), ""))],
      ["policy", "removes an annotation of others", status, patch(remove("/metadata/annotations/theirs"))],
      ["policy", "keeps a pod from ending", status, patch(add("/metadata/finalizers", ["e2e.example.com/stay"]))],
      ["rbac", "labels a pod directly", path, patch(replace("/metadata/labels/app", "other"))],
      ["rbac", "deletes a pod", path, { remove: { dryRun: false } }],
      ["rbac", "creates a pod elsewhere", podsPath, { create: pod(name, nowhere) }],
      ["allowed", "touches the dummy pod", dummyPath, patch(add(note(annotations.updateTriggerTime), time))],
      ["allowed", "tries to delete the dummy pod", dummyPath, { remove: { dryRun: true } }],
      ["policy", "labels the dummy pod", dummyPath, patch(add("/metadata/labels", { app: "web" }))],
      ["policy", "changes the image of the dummy pod", dummyPath, patch(replace("/spec/containers/0/image", "evil"))],
      ["policy", "runs a pod", dummies, { create: pod(`${name}-2`, {}) }],
      ["policy", "runs a pod on a node", dummies, { create: pod(`${name}-2`, { ...nowhere, nodeName: "node-0" }) }],
      // After others that this policy refuses, so that it is known to be in force.
      ["policy", "deletes the dummy pod", dummyPath, { remove: { dryRun: false } }],
      ["policy", "creates another pod", dummies, { create: pod("evil", nowhere) }],
      ["allowed", "creates a dummy pod", dummies, { create: pod(`${name}-2`, nowhere) }],
    ]),
    ...writesOf("webhook", [["rbac", "fences a pod", status, patch(add(note(annotations.fence), "1"))]]),
  ];
}
