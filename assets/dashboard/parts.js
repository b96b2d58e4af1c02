// All that is not the table: connection, problems, tiles, cells, held changes and the timeline.
import { byID, element, setChildren, setText, setTone, toneMark } from "./element.js";
import { known, now, view } from "./live.js";
import { ageText, capital, clockText, counted, fullTimeText, grouped } from "./words.js";

const tileOf = new Map();
// By the entry's id.
const lineOf = new Map();
let lostSinceMs;

export function showConnection(state) {
  const box = byID("connection");
  if (state === "live") lostSinceMs = undefined;
  else lostSinceMs ??= Date.now();
  setTone(box, state === "live" ? "good" : "bad");
  const since = lostSinceMs === undefined ? "" : ` since ${clockText(lostSinceMs)}`;
  const texts = {
    live: "Live",
    lost: `Connection lost${since}, trying again`,
    refused: `No answer${since}: is podseidon dashboard still running, with this URL?`,
  };
  setText(byID("connection-text"), texts[state]);
  document.body.classList.toggle("lost", state !== "live");
}

export function showScope() {
  const { cores, namespace } = known.scope;
  const where = namespace === undefined ? "" : `, namespace ${namespace}`;
  const names = cores.length === 1 && cores[0] === "core" ? "" : cores.join(", ");
  setText(byID("scope"), `${names}${where}`.replace(/^, /, ""));
  document.title = namespace === undefined ? "Podseidon" : `Podseidon, ${namespace}`;
}

export function showProblems() {
  const { problems = [] } = known;
  byID("problems").hidden = problems.length === 0;
  byID("problems-list").replaceChildren(...problems.map(({ text }) => element("li", {}, text)));
}

export function showHeld() {
  const { held = [] } = known;
  byID("held").hidden = held.length === 0;
  const items = held.map(({ core, cause, sinceMs }) =>
    element(
      "li",
      {},
      element("strong", {}, cause),
      ` in ${core}, for ${ageText(now() - sinceMs)}. To let them pass: `,
      element("code", {}, `podseidon approve ${cause} --reason "…"`),
    ),
  );
  byID("held-list").replaceChildren(...items);
}

// `choose` is called with a state, or "" for all.
export function showTiles(choose) {
  const { protectors = 0, refused = 0, byState = [] } = known.sums ?? {};
  const all = { name: "", tone: "note", count: protectors };
  const isListed = view.state === "" || byState.some(({ name }) => name === view.state);
  const chosen = isListed ? [] : [{ name: view.state, tone: "note", count: 0 }];
  const tiles = [all, ...byState, ...chosen].map(({ name, tone, count }) => {
    const { button, number } = tile(name, () => choose(view.state === name ? "" : name));
    setText(number, grouped(count));
    setTone(button, count === 0 ? "note" : tone);
    button.setAttribute("aria-pressed", String(view.state === name));
    return button;
  });
  const total = tile("refused");
  setText(total.number, grouped(refused));
  setChildren(byID("tiles"), [...tiles, total.button]);
}

function tile(name, press) {
  const made = tileOf.get(name) ?? newTile(name, press);
  tileOf.set(name, made);
  return made;
}

function newTile(name, press) {
  const number = element("span", { class: "figure" }, "0");
  const words = { "": "PodProtectors", refused: "Refused in 1 h" }[name] ?? capital(name);
  const hasShape = name !== "" && press !== undefined;
  const shape = hasShape ? [element("span", { class: "shape", "aria-hidden": "true" })] : [];
  const label = element("span", { class: "label" }, ...shape, words);
  if (press === undefined) return { number, button: element("p", { class: "tile" }, number, " ", label) };
  const button = element("button", { type: "button", class: "tile" }, number, " ", label);
  button.addEventListener("click", press);
  return { number, button };
}

export function showCells() {
  const { cells = [] } = known;
  byID("cells-section").hidden = cells.length === 0;
  byID("cells").replaceChildren(...cells.map(cellItem));
  const names = [...new Set(cells.map(({ cell }) => cell))];
  const options = byID("cell-names");
  if (options.children.length === names.length) return;
  options.replaceChildren(...names.map((value) => element("option", { value })));
}

function cellItem({ core, cell, word, tone, why, heardMs, version, available, promised }) {
  const heard = heardMs === undefined ? "" : `heard ${ageText(now() - heardMs)} ago`;
  const pods = `${grouped(available)} available${promised > 0 ? `, ${grouped(promised)} promised` : ""}`;
  return element(
    "li",
    { class: "cell", "data-tone": tone },
    element("p", { class: "head" }, element("strong", {}, cell), toneMark(tone, word)),
    element("p", {}, pods),
    element("p", { class: "soft" }, [heard, core, version].filter(Boolean).join(" · ")),
    ...(why === "" ? [] : [element("p", { class: "why" }, why)]),
  );
}

export function showTimeline() {
  const entries = [...known.entries.values()].sort((a, b) => b.atMs - a.atMs || b.change - a.change);
  for (const { id } of entries.splice(view.entries)) known.entries.delete(id);
  for (const id of lineOf.keys()) if (!known.entries.has(id)) lineOf.delete(id);
  const lines = entries.map((entry) => {
    const before = lineOf.get(entry.id);
    const line = before?.change === entry.change ? before.line : lineFor(entry);
    lineOf.set(entry.id, { line, change: entry.change });
    return line;
  });
  setChildren(byID("timeline"), lines);
  byID("timeline-empty").hidden = lines.length > 0;
  byID("older").hidden = (known.kept ?? 0) <= lines.length;
  setText(byID("timeline-kept"), lines.length === 0 ? "" : counted(lines.length, "entry", "entries"));
}

function lineFor({ atMs, tone, reason, message, count, about, core }) {
  const times = count > 1 ? [element("span", { class: "times" }, `${grouped(count)} times`)] : [];
  return element(
    "li",
    { "data-tone": tone },
    element("time", { datetime: new Date(atMs).toISOString(), title: fullTimeText(atMs) }, clockText(atMs)),
    element(
      "div",
      {},
      element("p", { class: "head" }, toneMark(tone, reason), ...times),
      element("p", { class: "about" }, about, element("span", { class: "soft" }, ` in ${core}`)),
      element("p", { class: "message" }, message),
    ),
  );
}
