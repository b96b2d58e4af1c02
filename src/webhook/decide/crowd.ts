/**
 * Which PodProtectors are asked about a pod, and the refusal where there are too many of them
 * (docs/refusals.md#too-many-podprotectors): everyone who may create PodProtectors in a namespace could otherwise make
 * each review there as slow as they like, and have it write as often.
 */
import { mayRefuse, criterionFor, type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type Protector } from "../protector/protector.ts";
import { countingMax, type Protectors } from "../protector/protectors.ts";
import { type Refused } from "./decision.ts";

export interface Match {
  /** Those that count the pod, in the order of their names; of a crowd (more than `countingMax` of a core) some. */
  readonly found: readonly Protector[];
  /** Those among them that can be asked: not the ones of a crowd. */
  readonly askable: readonly Protector[];
  /** The refusal where a core has a crowd. */
  readonly tooMany?: Refused;
  /** Whether the pod meets the criterion of none that counts it. `asked`: by the deletion; `isRepair` as for it. */
  isUnready(asked: HealthCriterion | undefined, isRepair?: boolean): boolean;
}

/** Those of all `sources` that count the pod. */
export function matchOf(sources: readonly Protectors[], pod: PodRecord): Match {
  const { namespace, labels } = pod;
  const bySource = sources.map((source) => ({ source, found: source.matching(namespace, labels) }));
  // Nearly all pods, so this is short.
  if (bySource.every((one) => one.found.length === 0)) {
    return {
      found: [],
      askable: [],
      isUnready: (asked, isRepair) => !mayRefuse(criterionFor(asked, {}), pod, isRepair),
    };
  }
  const crowds = bySource.filter(({ found }) => found.length > countingMax);
  const found = bySource.flatMap((one) => one.found);
  const askable = bySource.filter((one) => !crowds.includes(one)).flatMap((one) => one.found);
  const [crowd] = crowds;
  return {
    found,
    askable,
    ...(crowd !== undefined && { tooMany: refusalOf(crowd.source.core.name, namespace, crowd.found) }),
    isUnready(asked, isRepair) {
      const withOwn = crowds.map(({ source }) => source.withOwnCriterion(namespace, labels));
      if (withOwn.some((some) => some.length > countingMax)) return false;
      const specs = [...askable, ...withOwn.flat()].map(({ view }) => view?.protector.spec ?? {});
      // The others of a crowd judge by the default.
      const all = crowds.length > 0 ? [...specs, {}] : specs;
      return all.every((spec) => !mayRefuse(criterionFor(asked, spec), pod, isRepair));
    },
  };
}

/** PodProtectors that are named. */
const namedMax = 3;

/** Waiting does not help, so it is no 429. */
function refusalOf(core: string, namespace: string, crowd: readonly Protector[]): Refused {
  const named = crowd.slice(0, namedMax).map(({ id }) => id);
  const what = `more than ${countingMax} PodProtectors of core ${core} in namespace ${namespace} count this pod`;
  return {
    kind: "refused",
    status: "TooManyProtectors",
    code: 503,
    reason: "ServiceUnavailable",
    message:
      `Pod deletion is denied: ${what}, and at most ${countingMax} can be asked about one deletion. Some of them: ` +
      `${named.join(", ")}. Delete those that nobody needs, or narrow their selectors`,
    causes: named.map((id) => ({ reason: "TooManyPodProtectors", message: what, field: id })),
    audit: { "reject-by-podprotector": named[0] ?? "" },
  };
}
