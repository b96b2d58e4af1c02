/** The errors of the API as the real server words them: metav1.Status with its HTTP code. */
import { type JsonObject } from "./object.ts";
import { type ResourceType, groupKind, groupResource } from "./resources.ts";

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: JsonObject;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** A refusal of the API: every operation of the engine either resolves or throws one of these. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: Status;
  constructor(code: number, reason: string, message: string, details?: StatusDetails, metadata: JsonObject = {}) {
    // It is an answer: where in the double it was made tells nobody anything, and costs more than all the rest of it.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
  get code(): number {
    return this.status.code ?? 500;
  }
  get reason(): string {
    return this.status.reason ?? "";
  }
}

export function isApiError(error: unknown, ...reasons: string[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason));
}

export function success(details?: StatusDetails): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    ...(details === undefined ? {} : { details }),
  };
}

function resourceDetails(type: ResourceType, name: string): StatusDetails {
  return { name, ...(type.group === "" ? {} : { group: type.group }), kind: type.resource };
}

export function notFound(type: ResourceType, name: string): ApiError {
  return new ApiError(404, "NotFound", `${groupResource(type)} "${name}" not found`, resourceDetails(type, name));
}

/** What the server answers for a path that belongs to no resource. */
export function noSuchResource(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(type: ResourceType, name: string): ApiError {
  const message = `${groupResource(type)} "${name}" already exists`;
  return new ApiError(409, "AlreadyExists", message, resourceDetails(type, name));
}

const modifiedMeanwhile = "the object has been modified; please apply your changes to the latest version and try again";

export function conflict(type: ResourceType, name: string, why: string = modifiedMeanwhile): ApiError {
  const message = `Operation cannot be fulfilled on ${groupResource(type)} "${name}": ${why}`;
  return new ApiError(409, "Conflict", message, resourceDetails(type, name));
}

/** One field of a 422: `detail` is the server's text after the field, such as `Required value`. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | "FieldValueRequired"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueForbidden"
    | "FieldValueTypeInvalid";
  readonly detail: string;
}

export function invalid(type: ResourceType, name: string, errors: readonly FieldError[]): ApiError {
  const texts = errors.map((error) => `${error.field}: ${error.detail}`);
  const message = `${groupKind(type)} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`;
  return new ApiError(422, "Invalid", message, {
    ...(name === "" ? {} : { name }),
    ...(type.group === "" ? {} : { group: type.group }),
    kind: type.kind,
    causes: errors.map(({ field, reason, detail }) => ({ reason, message: detail, field })),
  });
}

export type OptionsKind = "ListOptions" | "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions";

/** A refusal of the options of a request. */
export function invalidOptions(kind: OptionsKind, field: string, detail: string): ApiError {
  const message = `${kind}.meta.k8s.io "" is invalid: ${field}: ${detail}`;
  const reason = detail.startsWith("Forbidden")
    ? "FieldValueForbidden"
    : detail.startsWith("Unsupported")
      ? "FieldValueNotSupported"
      : "FieldValueInvalid";
  return new ApiError(422, "Invalid", message, {
    group: "meta.k8s.io",
    kind,
    causes: [{ reason, message: detail, field }],
  });
}

export function invalidListOptions(field: string, detail: string): ApiError {
  return invalidOptions("ListOptions", field, detail);
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, "Unauthorized", "Unauthorized");
}

export function forbidden(
  type: ResourceType,
  name: string,
  why: string,
  causes: readonly StatusCause[] = [],
): ApiError {
  const subject = name === "" ? groupResource(type) : `${groupResource(type)} "${name}"`;
  const details = {
    ...(name === "" ? {} : { name }),
    ...(type.group === "" ? {} : { group: type.group }),
    kind: type.resource,
    ...(causes.length === 0 ? {} : { causes }),
  };
  return new ApiError(403, "Forbidden", `${subject} is forbidden: ${why}`, details);
}

function expired(message: string, metadata: JsonObject = {}): ApiError {
  return new ApiError(410, "Expired", message, undefined, metadata);
}

/** The state of a list is no longer kept. */
export function expiredList(): ApiError {
  return expired("The resourceVersion for the provided list is too old.");
}

/** The same for the next page; `continueToken` goes on from there, in the present state. */
export function expiredPage(continueToken: string): ApiError {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new " +
    "list without the continue parameter, or use the continue token in this response to retrieve the " +
    "remainder of the results. Continuing with the provided token results in an inconsistent list - " +
    "objects that were created, modified, or deleted between the time the first chunk was returned and " +
    "now may show up in the list.";
  return expired(message, { continue: continueToken });
}

export function tooOldVersion(requested: number, oldest: number): ApiError {
  return expired(`too old resource version: ${requested} (${oldest})`);
}

export function tooLargeVersion(requested: number, current: number): ApiError {
  return new ApiError(504, "Timeout", `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

export function internalError(message: string): ApiError {
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

/** An error that the server has no status for: its text, without a reason. */
export function plainError(message: string): ApiError {
  return new ApiError(500, "", message);
}

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError(415, "UnsupportedMediaType", message);
}

/** What the double does not imitate: a clear refusal instead of a wrong answer. */
export function notImplemented(what: string): ApiError {
  return new ApiError(501, "NotImplemented", `the API double does not implement ${what}`);
}
