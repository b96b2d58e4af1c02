/** Status of k8s.io/apimachinery/pkg/apis/meta/v1, as far as KubeStatus has it. */
import { type MessageReader } from "./message-reader.ts";

interface Status {
  status?: string;
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

interface StatusDetails {
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** A whole input that is a Status. */
export function readStatus(reader: MessageReader): Status {
  const status: Status = {};
  while (reader.next()) {
    if (reader.field === 2) status.status = reader.text();
    else if (reader.field === 3) status.message = reader.text();
    else if (reader.field === 4) status.reason = reader.text();
    else if (reader.field === 5) status.details = readDetails(reader);
    else if (reader.field === 6) status.code = reader.integer();
    else reader.skip();
  }
  return status;
}

function readDetails(reader: MessageReader): StatusDetails {
  const details: StatusDetails = {};
  let retryAfterSeconds = 0;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 4) (details.causes ??= []).push(readCause(reader));
    else if (reader.field === 5) retryAfterSeconds = reader.integer();
    else reader.skip();
  }
  reader.leave(outer);
  // JSON leaves 0 away, which says nothing; here it is always written, and must not be read as "at once".
  if (retryAfterSeconds !== 0) details.retryAfterSeconds = retryAfterSeconds;
  return details;
}

function readCause(reader: MessageReader): StatusCause {
  const cause: StatusCause = {};
  const outer = reader.enter();
  while (reader.next()) {
    // Called "type" in the protobuf, and "reason" in JSON.
    if (reader.field === 1) cause.reason = reader.text();
    else if (reader.field === 2) cause.message = reader.text();
    else if (reader.field === 3) cause.field = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  return cause;
}
