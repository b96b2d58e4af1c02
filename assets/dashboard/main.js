// Puts the page together: what comes is shown, what a person does is looked at.
import { byID, setText } from "./element.js";
import { explainIn, startExplain } from "./explain.js";
import { connect, known, look, view } from "./live.js";
import { showCells, showConnection, showHeld, showProblems, showScope, showTiles, showTimeline } from "./parts.js";
import { buttonsOfRows, rowsAged, showRows } from "./rows.js";
import { grouped } from "./words.js";

// A person who listens is told of changes at most this often.
const announceMs = 5_000;
const agingMs = 5_000;
const themes = ["auto", "light", "dark"];

let announcedMs = 0;
let announced = "";

function show(update) {
  if (update.scope !== undefined) showScope();
  if (update.problems !== undefined) showProblems();
  if (update.held !== undefined) showHeld();
  if (update.sums !== undefined || update.isWhole) showTiles(choose);
  if (update.cells !== undefined) showCells();
  if (update.list !== undefined || update.rows !== undefined) showRows(explainIn);
  if (update.timeline !== undefined) showTimeline();
  showList();
  announce();
}

function showList() {
  const { matching, page, pages } = known.list;
  const { protectors } = known.sums;
  const isNarrowed = view.words !== "" || view.state !== "";
  setText(byID("matching"), isNarrowed ? `${grouped(matching)} of ${grouped(protectors)}` : grouped(protectors));
  byID("table").hidden = matching === 0;
  byID("empty").hidden = matching > 0;
  const nothing = isNarrowed ? "No PodProtector matches. Esc shows all again." : "There is no PodProtector yet.";
  setText(byID("empty"), known.isComplete ? nothing : "Waiting for the first list of PodProtectors.");
  byID("paging").hidden = pages === 1;
  setText(byID("page-text"), `Page ${grouped(page)} of ${grouped(pages)}`);
  byID("previous").disabled = page <= 1;
  byID("next").disabled = page >= pages;
  view.page = page;
}

// Says in one sentence what needs attention, when that has changed.
function announce() {
  const parts = known.sums.byState
    .filter(({ tone, count }) => count > 0 && (tone === "bad" || tone === "warn"))
    .map(({ name, count }) => `${grouped(count)} ${name}`);
  const text = parts.length === 0 ? "No PodProtector needs attention" : parts.join(", ");
  if (text === announced || Date.now() - announcedMs < announceMs) return;
  announced = text;
  announcedMs = Date.now();
  setText(byID("announcer"), text);
}

function lookAt(changes) {
  look(changes, show, showConnection);
}

function choose(state) {
  lookAt({ state });
  showTiles(choose);
}

function turn(pages) {
  const page = view.page + pages;
  if (page < 1 || page > (known.list?.pages ?? 1)) return;
  lookAt({ page });
  byID("protectors").focus();
}

function showAll() {
  byID("words").value = "";
  lookAt({ words: "", state: "" });
  showTiles(choose);
}

function moveFocus(step) {
  const buttons = buttonsOfRows();
  const at = buttons.indexOf(document.activeElement);
  const next = at === -1 ? 0 : at + step;
  buttons[Math.min(Math.max(next, 0), buttons.length - 1)]?.focus();
}

const keys = {
  "/": () => byID("words").focus(),
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  n: () => turn(1),
  p: () => turn(-1),
  e: () => byID("explain-namespace").focus(),
  "?": () => byID("keys").showModal(),
};

function pressed(event) {
  if (byID("keys").open) return;
  const isWriting = event.target.matches("input:not([type=checkbox])");
  if (event.key === "Escape") {
    if (isWriting) event.target.blur();
    showAll();
    return;
  }
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !byID("keys-on").checked) return;
  const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (act === undefined) return;
  event.preventDefault();
  act();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  setText(byID("theme-button"), `Theme: ${theme}`);
}

// Private windows may refuse to keep anything.
function keptTheme() {
  try {
    return themes.find((theme) => theme === localStorage.getItem("podseidon-theme")) ?? "auto";
  } catch {
    return "auto";
  }
}

function keepTheme(theme) {
  try {
    localStorage.setItem("podseidon-theme", theme);
  } catch {
    // The next page begins with that of the system.
  }
}

setTheme(keptTheme());
byID("theme-button").addEventListener("click", () => {
  const theme = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  setTheme(theme);
  keepTheme(theme);
});
byID("keys-button").addEventListener("click", () => byID("keys").showModal());
byID("search").addEventListener("submit", (event) => event.preventDefault());
byID("words").addEventListener("input", ({ target }) => lookAt({ words: target.value.trim() }));
byID("previous").addEventListener("click", () => turn(-1));
byID("next").addEventListener("click", () => turn(1));
byID("older").addEventListener("click", () => lookAt({ entries: 500, page: view.page }));
document.addEventListener("keydown", pressed);
startExplain();
showTiles(choose);
setInterval(() => {
  showCells();
  showHeld();
  rowsAged();
}, agingMs);
connect(show, showConnection);
