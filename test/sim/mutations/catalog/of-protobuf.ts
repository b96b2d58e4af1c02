/** Mutations of how pods are read from protobuf (src/kube/protobuf); worlds in JSON show none of them. */
import { type Mutation } from "../mutation.ts";

export const mutationsOfProtobuf: readonly Mutation[] = [
  {
    name: "protobuf-without-deletion-timestamps",
    why: "a pod with a deletionTimestamp terminates, in protobuf too",
    file: "kube/protobuf/meta.ts",
    find: `meta.deletionTimestamp = readTime(reader);`,
    replace: `reader.skip();`,
    plan: { servesProtobuf: true },
  },
  {
    name: "protobuf-probe-time-is-the-transition-time",
    why: "a pod has been Ready since the lastTransitionTime of its condition",
    file: "kube/protobuf/pod.ts",
    find: `else if (reader.field === 4) condition.lastTransitionTime`,
    replace: `else if (reader.field === 4) condition.lastProbeTime`,
    only: [],
    plan: { cells: ["a"], podsPerCell: 4, minAvailable: 1, minReadySeconds: 20, servesProtobuf: true },
  },
  {
    name: "protobuf-lists-end-with-the-first-page",
    why: "a list goes on while there is a continue token",
    file: "kube/protobuf/meta.ts",
    find: `else if (reader.field === 3) meta.continue = reader.text();`,
    replace: ``,
    only: ["small-pages", "broken-watches"],
    plan: { cells: ["a"], podsPerCell: 10, minAvailable: 2, offersWatchList: false, servesProtobuf: true },
  },
  {
    name: "protobuf-frames-are-passed-over",
    why: "a frame that cannot be read ends the watch, or what it says would be lost",
    file: "kube/watch/watch-stream.ts",
    find: `yield frameOf(decodeWatchEvent(frame, what), what);`,
    replace: `{
      let read: WatchFrame;
      try {
        read = frameOf(decodeWatchEvent(frame, what), what);
      } catch {
        continue;
      }
      yield read;
    }`,
    only: ["broken-watches", "flapping-pods"],
    plan: { cells: ["a"], podsPerCell: 6, minAvailable: 2, servesProtobuf: true },
  },
];
