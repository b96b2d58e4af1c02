/**
 * Kubernetes protobuf, read only: the objects that the pod informer receives (Pod, PodList, Status, watch events), and
 * of them only the fields that are used here. What comes out has the shape of the same object in JSON, so one reader
 * serves both. Only times are Dates: to write a text that is parsed at once would take half of the time.
 * - message-reader.ts: the fields of a message, on a library's wire format.
 * - envelope.ts: "k8s\0" and which kind is inside; the frames of a watch and their events; Status.
 * - meta.ts, pod.ts: the other messages.
 *
 * Field numbers are those of the generated.proto files of k8s.io/api and k8s.io/apimachinery;
 * test/unit/kube/protobuf/pod.test.ts compares the result with what a real API server sent.
 */
export { decodeObject, decodeWatchEvent, isProtobuf, mediaType, splitFrames } from "./envelope.ts";
export { initialEventsEndAnnotation } from "./meta.ts";
