/** Every kind of failure of a request, for tests that must hold for each. */
import { type KubeErrorKind } from "../../../src/kube/kube-client.ts";

const all: Readonly<Record<KubeErrorKind, true>> = {
  conflict: true,
  alreadyExists: true,
  notFound: true,
  gone: true,
  invalid: true,
  unauthorized: true,
  forbidden: true,
  tooManyRequests: true,
  serverError: true,
  timeout: true,
  network: true,
  malformed: true,
  aborted: true,
};

export const errorKinds: readonly KubeErrorKind[] = Object.keys(all) as KubeErrorKind[];
