/** What Events tell people. */
import { type AdminClient, type ObjectList } from "../clusters/admin-client.ts";

export interface EventQuery {
  readonly namespace: string;
  readonly reason: string;
  /** Whom it is about; absent = anything. */
  readonly about?: { readonly kind: string; readonly name: string };
}

/** The message of an Event that fits; undefined when there is none. */
export async function eventMessage(admin: AdminClient, query: EventQuery): Promise<string | undefined> {
  const { namespace, reason, about } = query;
  const fields = about === undefined ? {} : { "involvedObject.kind": about.kind, "involvedObject.name": about.name };
  const fieldSelector = Object.entries({ ...fields, reason })
    .map((field) => field.join("="))
    .join();
  const path = `/api/v1/namespaces/${namespace}/events`;
  const { items } = await admin.get<ObjectList<{ readonly message: string }>>(path, { fieldSelector });
  return items[0]?.message;
}
