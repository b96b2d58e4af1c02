/** An explanation as text. */
import { withoutCallerCounts } from "../../api/caller-counts.ts";
import { foreignIn } from "../../accounting/count/foreign-owners.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";
import { isForeignUnder } from "../../webhook/protector/protector-view.ts";
import { type Terminal } from "../command.ts";
import { type OpenPromise } from "../fleet/protectors.ts";
import { cellsText, refusedText, sinceText, toneOf } from "../fleet/wording.ts";
import { ageText, coloured, type Tone, wrapped, wrappedCommand } from "../text/format.ts";
import { type Advice, adviceOn, adviceOnStates } from "./advice.ts";
import { type Explained, type Explanation } from "./gather.ts";
import { type AskedPod, isForced, type Judged } from "./judged.ts";

export interface ExplanationView {
  readonly asked: AskedPod | undefined;
  readonly at: EpochMicros;
  readonly program: string;
  readonly terminal: Terminal;
}

/** Promises and refusals that are shown of each PodProtector: the oldest, and the newest. */
const promisesMax = 8;
const refusalsMax = 3;

/** Of the labels before each line. */
const labelWidth = 12;
/** Of the further lines of one entry, and twice as much of a command. */
const hanging = 2;
/** On a narrower page text does not stand beside the labels: words would be longer than a line. */
const columnsBeside = 50;
const narrowIndent = 4;

export function explanationText({ explained, unusable, gateFaults }: Explanation, view: ExplanationView): string {
  const { asked } = view;
  const answer = asked === undefined ? "" : podText(asked, explained, unusable.length > 0, view);
  const head = answer + gateFaults.map((fault) => gateText(fault, view)).join("");
  const parts = explained.map((one) => protectorText(one, view));
  const invalid = unusable.map(({ core, name, reason }) =>
    lineOf("invalid", `${core}/${name}: ${reason}; deletions of pods that it may protect are refused`, view, "bad"),
  );
  return [head, ...parts, ...(invalid.length > 0 ? [invalid.join("")] : [])].filter((part) => part !== "").join("\n");
}

/** Whether the deletion would be refused by one of them. An invalid one may refuse; it counts where it stands alone. */
export function isRefused({ explained }: Explanation): boolean {
  return explained.some(({ answers }) => answers !== undefined && answers.deletion.verdict.kind !== "admitted");
}

function podText(
  asked: AskedPod,
  explained: readonly Explained[],
  mayBeRefused: boolean,
  view: ExplanationView,
): string {
  const { pod, cellID } = asked;
  const force = isForced(asked) ? ", with the annotation that forces its deletion" : "";
  const title = `pod ${pod.key} in cell ${cellID}${force}`;
  const answerOf = (what: string, of: (one: NonNullable<Explained["answers"]>) => Judged): string => {
    const refusing = explained.filter(
      ({ answers }) => answers !== undefined && of(answers).verdict.kind !== "admitted",
    );
    const isNo = refusing.length > 0;
    const word = isNo ? "NO" : mayBeRefused ? "NOT KNOWN, see below" : "YES";
    const names = refusing.map(({ core, standing }) => printable(idOf(core, standing))).join(", ");
    // The only one is named in the next paragraph.
    const by = isNo && (explained.length > 1 || mayBeRefused) ? `: refused by ${names}` : "";
    const tone: Tone = isNo ? "bad" : mayBeRefused ? "warning" : "good";
    const question = `Would its ${what} be admitted now?  `;
    return wrapped(`${question}${word}${by}`, view.terminal.columns, "  ")
      .map((line) => line.replace(word, coloured(view.terminal, tone, word)))
      .map((line) => `${line}\n`)
      .join("");
  };
  const none = explained.length === 0 ? `No PodProtector counts it${mayBeRefused ? " for sure" : ""}.\n` : "";
  const isSame = explained.every(({ answers }) => answers === undefined || areSame(answers));
  const answer = isSame
    ? answerOf("deletion or eviction", (one) => one.deletion)
    : answerOf("deletion", (one) => one.deletion) + answerOf("eviction", (one) => one.eviction);
  return `${coloured(view.terminal, "strong", printable(title))}\n${answer}${none}`;
}

/** What a webhook would decide matters only where it is asked. */
function gateText(fault: string, { terminal }: ExplanationView): string {
  return wrapped(`But in this cell ${printable(fault)}`, terminal.columns, "  ")
    .map((line) => `${coloured(terminal, "bad", line)}\n`)
    .join("");
}

function areSame({ deletion, eviction }: NonNullable<Explained["answers"]>): boolean {
  return (deletion.verdict.kind === "admitted") === (eviction.verdict.kind === "admitted");
}

function protectorText(one: Explained, view: ExplanationView): string {
  const { core, standing, answers, refusals, forced } = one;
  const { mustStay, available, promised, free, states } = standing;
  const { terminal } = view;
  const numbers = `must stay ${mustStay}, available ${available}, promised ${promised}, free ${free ?? "?"}`;
  const lines = [
    `${coloured(terminal, "strong", printable(`PodProtector ${idOf(core, standing)}`))}\n`,
    ...states.map((state, index) =>
      lineOf(index === 0 ? "state" : "", sinceText(standing, state, view.at) ?? state, view, toneOf(state)),
    ),
    lineOf("numbers", numbers, view),
    lineOf("cells", cellsText(standing), view),
    ...heardLines(one, view),
    ...foreignLines(standing, view),
  ];
  if (answers !== undefined) {
    lines.push(lineOf("this pod", relationText(one, view.asked), view));
    for (const text of refusalTexts(answers.deletion, answers.eviction)) lines.push(lineOf("refusal", text, view));
  }
  lines.push(...cellAnswers(one, view), ...promiseLines(one, view));
  lines.push(...eventLines("refused", refusals, view), ...eventLines("forced", forced, view));
  adviceFor(one, view).forEach(({ text, command }, index) => {
    lines.push(lineOf(index === 0 ? "you can" : "", text, view));
    if (command !== undefined) lines.push(commandOf(command, view));
  });
  return lines.join("");
}

/** On what waits for a person, and on the refusal of the pod, or of a typical one. */
export function adviceFor(
  { standing, answers, inCells }: Explained,
  { asked, program }: Pick<ExplanationView, "asked" | "program">,
): readonly Advice[] {
  const refused = answers?.deletion ?? inCells.find(({ deletion }) => deletion.verdict.kind !== "admitted")?.deletion;
  const ways = refused === undefined ? [] : adviceOn(standing, refused, asked, program);
  const known = new Set(ways.map(({ command }) => command));
  return [...adviceOnStates(standing, program).filter(({ command }) => !known.has(command)), ...ways];
}

function eventLines(label: string, told: Explained["refusals"], view: ExplanationView): readonly string[] {
  if (told === undefined) return [];
  const { events } = told;
  return [
    lineOf(label, refusedText(told, view.at), view),
    ...events.slice(0, refusalsMax).map(({ count, reason, message, lastAt }) => {
      const age = lastAt === undefined ? "" : `, ${ageText((view.at - lastAt) / 1000)} ago`;
      const times = events.length === 1 ? "" : `${count} x `;
      const which = events.length === 1 ? reason : `${times}${reason}${age}`;
      return lineOf("", `${which}; ${withoutCallerCounts(message)}`, view);
    }),
  ];
}

/** Where a pod may go now, and where not. */
function cellAnswers({ inCells }: Explained, view: ExplanationView): readonly string[] {
  const byText = Map.groupBy(inCells, ({ deletion }) => deletion.why ?? "");
  return Array.from(byText).map(([text, ofText], index) => {
    const names = ofText.map(({ cellID }) => cellID).join(", ");
    const isAdmitted = ofText.every(({ deletion }) => deletion.verdict.kind === "admitted");
    const answer = isAdmitted ? "may go now" : "may not go now";
    const why = text === "" ? "" : isAdmitted ? `: in shadow: ${text}` : `: ${text}`;
    const cells = ofText.length === 1 ? "cell" : "cells";
    return lineOf(index === 0 ? "a pod" : "", `in ${cells} ${names} ${answer}${why}`, view);
  });
}

/** Both, where they differ. */
function refusalTexts(deletion: Judged, eviction: Judged): readonly string[] {
  const shown = (text: string | undefined, { verdict }: Judged): string[] =>
    text === undefined ? [] : [verdict.kind === "admitted" ? `in shadow, so admitted: ${text}` : text];
  if (deletion.refusal === eviction.refusal) return shown(deletion.refusal, deletion);
  return [
    ...shown(deletion.refusal, deletion).map((text) => `deletion: ${text}`),
    ...shown(eviction.refusal, eviction).map((text) => `eviction: ${text}`),
  ];
}

function heardLines({ standing, cells }: Explained, view: ExplanationView): readonly string[] {
  const heard = standing.figures.cells.flatMap(({ cellID }) => {
    const { heardAgoMs: ago, isTurning = false } = cells?.cells.get(cellID)?.glance ?? {};
    const turning = isTurning ? " (about now webhooks take it for silent, and some may not do so yet)" : "";
    return ago === undefined ? [] : [`${cellID} ${ageText(ago)} ago${turning}`];
  });
  return heard.length === 0 ? [] : [lineOf("heard", heard.join(", "), view)];
}

function relationText({ answers, standing }: Explained, asked: AskedPod | undefined): string {
  if (asked !== undefined && isForeignUnder(standing.view, asked))
    return `of another owner (${asked.pod.controllerKind}): neither counted nor protected`;
  return answers?.relation === "counted" ? "counted, not protected" : "counted and protected";
}

/** Pods that match and belong to other owners, by cell. */
function foreignLines({ protector }: Explained["standing"], view: ExplanationView): readonly string[] {
  const { spec, status } = protector;
  const texts = (status?.cells ?? []).flatMap(({ cellID, aggregation }) => {
    const pods = aggregation?.foreignReplicas ?? 0;
    const leftOut = foreignIn(aggregation, spec);
    const how = leftOut.length === 0 ? "counted" : `${leftOut.join(", ")} left out`;
    return pods === 0 ? [] : [`${cellID} ${pods} of other owners (${how})`];
  });
  return texts.length === 0 ? [] : [lineOf("foreign", texts.join(", "), view)];
}

function promiseLines({ promises, pods }: Explained, view: ExplanationView): readonly string[] {
  return promises.slice(0, promisesMax).map((promise, index) => {
    const more =
      promises.length > promisesMax && index === promisesMax - 1 ? ` (and ${promises.length - promisesMax} more)` : "";
    return lineOf(index === 0 ? "promised" : "", `${promiseText(promise, pods)}${more}`, view);
  });
}

function promiseText(promise: OpenPromise, pods: Explained["pods"]): string {
  const { kind, cellID, ageMs, weight, podUID, podName, podUIDDigests } = promise;
  const age = ageMs === undefined ? "" : `, ${ageText(ageMs)} ago`;
  if (podUID === undefined) {
    const there = podUIDDigests.flatMap((digest) => pods?.get(digest) ?? []);
    const known = pods === undefined || podUIDDigests.length === 0 ? "" : `; ${there.length} of them are still there`;
    return `${weight} deletions in cell ${cellID}${age}${known}`;
  }
  const pod = pods?.get(podUID);
  const fate =
    pods === undefined
      ? ""
      : pod === undefined
        ? ": gone"
        : pod.isTerminating
          ? ": terminating"
          : ": still there, not terminating";
  return `${kind} of pod ${pod?.name ?? podName ?? `with UID ${podUID}`} in cell ${cellID}${age}${fate}`;
}

function idOf(core: string, { namespace, name }: Explained["standing"]): string {
  return `${core}/${namespace}/${name}`;
}

function lineOf(label: string, text: string, { terminal }: ExplanationView, tone?: Tone): string {
  const indent = indentIn(terminal);
  const start = label === "" ? " ".repeat(indent) : `  ${label}`.padEnd(labelWidth);
  return wrapped(`${start}${whole(text)}`, terminal.columns, " ".repeat(indent + hanging))
    .map((line, index) => {
      const own = index === 0 ? line.slice(start.length) : line.trimStart();
      const before = line.slice(0, line.length - own.length);
      return `${before.replace(label, coloured(terminal, "faint", label))}${coloured(terminal, tone, own)}\n`;
    })
    .join("");
}

function indentIn({ columns }: Pick<Terminal, "columns">): number {
  return columns < columnsBeside ? narrowIndent : labelWidth;
}

function commandOf(command: string, { terminal }: ExplanationView): string {
  const lines = wrappedCommand(printable(command), terminal.columns, " ".repeat(indentIn(terminal) + 2 * hanging));
  return `${lines.join("\n")}\n`;
}

/** Piece by piece: the filter cuts what is longer than a line for a terminal, and nothing is to be missing here. */
function whole(text: string): string {
  return text.replaceAll(/.{1,100}/gsu, printable);
}
