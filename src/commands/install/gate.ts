/**
 * The webhook configuration, last of all: from then on deletions are refused while no webhook can be reached. So first
 * a configuration for trial asks the webhook about the update-trigger's dummy pod alone, by the API server that will
 * ask it, and only when that is answered the real one is made.
 */
import { askGate } from "../../aggregator/audits/gate-question.ts";
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { later, sleep } from "../../util/clock.ts";
import { apply, planObjects, readObject, removeObject, type Site, type Step } from "./apply.ts";
import { updateTriggerNamespace } from "./objects.ts";

/** Pulling an image and starting may take this long; a webhook that answers does so within seconds. */
const patienceMs = 180_000;
const pollMs = 1_000;
/** An API server may wait for the webhook as long as its entry says. */
const askMs = 12_000;
/** Between two lines of progress. */
const progressEveryMs = 15_000;

export interface Gate {
  readonly site: Site;
  readonly cell: string;
  /** The ValidatingWebhookConfiguration, or why there is none yet. */
  readonly configuration: () => Promise<Json | string>;
  /** For the plan: what is known of it by now. */
  readonly outline: Json;
  /** Why nobody can answer yet, asked when the step begins; undefined = wait for an answer. */
  readonly untilThen: () => string | undefined;
}

export function gateStep(gate: Gate): Step {
  const { site, outline, cell } = gate;
  return {
    title: "Wait until the webhook answers the API server, and then guard deletions: the webhook configuration",
    async plan() {
      const wanted = await gate.configuration();
      return planObjects(site, [typeof wanted === "string" ? outline : wanted]);
    },
    async run(tell) {
      const reason = gate.untilThen();
      const waitMs = reason === undefined ? patienceMs : 0;
      const configuration = await published(gate, waitMs, tell);
      if (typeof configuration === "string") return reason ?? configuration;
      const present = await readObject(site, configuration);
      if (!present.ok) return present.problem;
      const applied = present.value === undefined ? undefined : await apply(site, configuration);
      if (applied?.ok === false) return applied.problem;
      const silence =
        applied === undefined
          ? await onTrial(site, configuration, () => answered(site, cell, waitMs, tell))
          : await answered(site, cell, waitMs, tell);
      if (silence !== undefined) return reason ?? silence;
      const done = await apply(site, configuration);
      return done.ok ? undefined : done.problem;
    },
  };
}

/** Asks about nothing but the namespace of the dummy pod. */
export function trialOf(configuration: Json): Json {
  const [first] = asList(configuration["webhooks"]).map(fieldsOf);
  const metadata = fieldsOf(configuration["metadata"]);
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": updateTriggerNamespace } };
  return {
    ...configuration,
    metadata: { ...metadata, name: `${String(metadata["name"])}-trial` },
    webhooks: [{ ...first, namespaceSelector }],
  };
}

async function onTrial(
  site: Site,
  configuration: Json,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const trial = trialOf(configuration);
  const made = await apply(site, trial);
  const silence = made.ok ? await ask() : made.problem;
  // Also when the command is stopped, which may hide that it was made.
  const left = await removeObject({ ...site, signal: new AbortController().signal }, trial);
  return silence ?? left;
}

/** The configuration, once it is known whom to trust; a text = why not. */
async function published(gate: Gate, waitMs: number, tell: (line: string) => void): Promise<Json | string> {
  const { clock, signal } = gate.site;
  const end = later(clock.monotonicMs(), waitMs);
  let nextLine = later(clock.monotonicMs(), progressEveryMs);
  for (;;) {
    const configuration = await gate.configuration();
    if (typeof configuration !== "string") return configuration;
    if (signal.aborted || clock.monotonicMs() >= end) return configuration;
    if (clock.monotonicMs() >= nextLine) {
      tell(`waiting: ${configuration}`);
      nextLine = later(clock.monotonicMs(), progressEveryMs);
    }
    await sleep(clock, pollMs, signal);
  }
}

/** Undefined = the webhook has answered, for this cell. */
async function answered(
  { client, clock, signal }: Site,
  cell: string,
  waitMs: number,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const dummyPod = { namespace: updateTriggerNamespace, name: "podseidon-update-trigger" };
  const end = later(clock.monotonicMs(), waitMs);
  let nextLine = later(clock.monotonicMs(), progressEveryMs);
  for (;;) {
    const answer = await askGate(client, dummyPod, cell, { signal, timeoutMs: askMs });
    if (answer !== "no pod" && answer.kind === "ok") return undefined;
    const why = reasonOf(answer, client.cluster);
    const isFinal = answer !== "no pod" && answer.kind === "unknown" && answer.isForbidden;
    if (isFinal || signal.aborted || clock.monotonicMs() >= end) return why;
    if (clock.monotonicMs() >= nextLine) {
      tell(`waiting: ${why}`);
      nextLine = later(clock.monotonicMs(), progressEveryMs);
    }
    await sleep(clock, pollMs, signal);
  }
}

function reasonOf(answer: Awaited<ReturnType<typeof askGate>>, cluster: string): string {
  const pod = `${updateTriggerNamespace}/podseidon-update-trigger`;
  if (answer === "no pod")
    return `${cluster}: there is no pod ${pod}, which the aggregator makes when it has started: look at its pods`;
  switch (answer.kind) {
    case "ok":
      return "";
    case "missing":
      return `${cluster}: the API server does not ask the webhook yet`;
    case "other-cell":
      return `${cluster}: the webhook was asked for the cell ${answer.cell}`;
    case "unreachable":
      return `${cluster}: the API server gets no answer from the webhook: ${answer.why}`;
    case "unknown":
      return answer.isForbidden
        ? `${cluster}: you may not delete pods in namespace ${updateTriggerNamespace}; ask for the role cluster-admin`
        : `${cluster}: the API server does not tell whether the webhook answers: ${answer.why}`;
    default:
      return answer satisfies never;
  }
}
