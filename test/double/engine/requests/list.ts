/** Lists: which state a resourceVersion asks for, selection, and pages with continue tokens. */
import { type KubeObject } from "../object.ts";
import { type ResourceType } from "../resources.ts";
import { parseFieldSelector, parseLabelSelector } from "../selectors.ts";
import { badRequest, expiredList, expiredPage, invalidListOptions, plainError, tooLargeVersion } from "../status.ts";
import { type Store } from "../store.ts";

/** The query of a list or watch, as texts; absent = not sent. */
export interface SelectionQuery {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
}
export interface ListQuery extends SelectionQuery {
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
}

export interface ListResult {
  readonly resourceVersion: string;
  readonly items: readonly KubeObject[];
  /** Set when there is more. */
  readonly continueToken?: string;
  /** How many more; only when nothing was filtered by a selector. */
  readonly remainingItemCount?: number;
}

export type Selects = (object: KubeObject) => boolean;

/** The objects that a request selects by namespace, labels and fields. Throws 400. */
export function compileSelection(type: ResourceType, namespace: string | undefined, query: SelectionQuery): Selects {
  const labels = parseLabelSelector(query.labelSelector);
  const fields = parseFieldSelector(type, query.fieldSelector);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (labels === undefined || labels(object.metadata.labels ?? {})) &&
    (fields === undefined || fields(object));
}

/**
 * A resourceVersion parameter as a number; undefined when not sent. Throws 500, which is what a GET and a watch answer.
 */
export function parseVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) throw plainError(versionProblem(text));
  return Number(text);
}

function versionProblem(text: string): string {
  const shown = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`;
}

interface ContinueToken {
  readonly revision: number;
  /** The last key of the page before. */
  readonly after: string;
}

/** In a token: go on in whatever the present state is then. */
const presentRevision = -1;

function encodeToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: token.revision, start: token.after })).toString(
    "base64url",
  );
}

function decodeToken(text: string): ContinueToken {
  try {
    const token = JSON.parse(Buffer.from(text, "base64url").toString()) as { rv?: unknown; start?: unknown };
    if (typeof token.rv === "number" && typeof token.start === "string")
      return { revision: token.rv, after: token.start };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

/** The revision that the list is to be taken from, and where it starts. */
function startOf(store: Store, query: ListQuery): ContinueToken {
  const text = query.resourceVersion ?? "";
  if (!/^\d{0,15}$/.test(text)) throw badRequest(`invalid resource version: ${versionProblem(text)}`);
  const version = parseVersion(text);
  const match = query.resourceVersionMatch;
  if (query.continueToken !== undefined && query.continueToken !== "") {
    if (match !== undefined && match !== "") {
      throw invalidListOptions(
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden when continue is provided",
      );
    }
    if (version !== undefined && version !== 0)
      throw badRequest("specifying resource version is not allowed when using continue");
    const token = decodeToken(query.continueToken);
    return token.revision === presentRevision ? { ...token, revision: store.revision } : token;
  }
  if (match !== undefined && match !== "") {
    if (version === undefined) {
      throw invalidListOptions(
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
      );
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      throw invalidListOptions(
        "resourceVersionMatch",
        `Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan", ""`,
      );
    }
    if (match === "Exact" && version === 0) {
      throw invalidListOptions(
        "resourceVersionMatch",
        'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
      );
    }
  }
  if (version !== undefined && version > store.revision) throw tooLargeVersion(version, store.revision);
  // Without a match, a page at a version means exactly that version.
  const exact = match === "Exact" || ((match ?? "") === "" && (query.limit ?? 0) > 0 && (version ?? 0) > 0);
  return { revision: exact ? version! : store.revision, after: "" };
}

/**
 * Lists the objects of one namespace, or of all when it is undefined. Throws 400, 410 (state no longer kept), 422 and
 * 504 (version in the future).
 */
export function listObjects(
  store: Store,
  type: ResourceType,
  namespace: string | undefined,
  query: ListQuery,
): ListResult {
  const selects = compileSelection(type, namespace, query);
  const start = startOf(store, query);
  const snapshot = store.snapshot(type, start.revision);
  if (snapshot === undefined) {
    throw start.after === "" ? expiredList() : expiredPage(encodeToken({ ...start, revision: presentRevision }));
  }
  const selected = snapshot.filter(([key, object]) => key > start.after && selects(object));
  // A list at version 0 comes from the watch cache, which knows no pages.
  const limit = query.resourceVersion === "0" ? 0 : (query.limit ?? 0);
  const page = limit > 0 ? selected.slice(0, limit) : selected;
  const result = { resourceVersion: String(start.revision), items: page.map(([, object]) => object) };
  if (page.length === selected.length) return result;
  const filtered = (query.labelSelector ?? "") !== "" || (query.fieldSelector ?? "") !== "";
  return {
    ...result,
    continueToken: encodeToken({ revision: start.revision, after: page.at(-1)![0] }),
    ...(filtered ? {} : { remainingItemCount: selected.length - page.length }),
  };
}
