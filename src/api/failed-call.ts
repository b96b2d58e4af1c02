/**
 * The body of an answer to an API server that decides nothing: a metav1.Status, because that is what its webhook client
 * reads from a failed call and quotes. Of any other body with the code 401 it says only that credentials are asked for.
 * The failurePolicy then decides.
 */
const reasons = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  429: "TooManyRequests",
  500: "InternalError",
} as const;

/** `message` is for people. */
export function failedCallStatus(code: keyof typeof reasons, message: string): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason: reasons[code], code };
}
