// The connection to the program: what is looked at, what has come, and whether it still comes.

const token = new URLSearchParams(location.search).get("token") ?? "";
// The program says something every 10 seconds.
const silenceMs = 30_000;
// After an answer that is an error, which a browser does not try again by itself.
const retryMs = 3_000;
// As long as a person writes, the next letter follows.
const typingMs = 200;

export const view = { words: "", state: "", page: 1, entries: 60 };

// What has come so far, put together.
export const known = { rows: new Map(), entries: new Map(), nowMs: Date.now(), receivedMs: Date.now() };

let source;
let watchdog;
let waiting;

// `show` is called with what has changed, `showConnection` with "live", "lost" or "refused".
export function connect(show, showConnection) {
  source?.close();
  clearTimeout(waiting);
  const { words, state, page, entries } = view;
  source = new EventSource(address("events", { words, state, page, entries }));
  const wait = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      showConnection("lost");
      connect(show, showConnection);
    }, silenceMs);
  };
  source.addEventListener("update", ({ data }) => {
    wait();
    showConnection("live");
    show(take(JSON.parse(data)));
  });
  source.addEventListener("error", ({ target }) => {
    const isRefused = target.readyState === EventSource.CLOSED;
    showConnection(isRefused ? "refused" : "lost");
    if (!isRefused || target !== source) return;
    waiting = setTimeout(() => connect(show, showConnection), retryMs);
  });
  wait();
}

// Looks at something else: at its first page, unless `changes` name one.
export function look(changes, show, showConnection) {
  // What still comes for the former view is not shown any more.
  source?.close();
  Object.assign(view, { page: 1 }, changes);
  clearTimeout(waiting);
  waiting = setTimeout(() => connect(show, showConnection), "words" in changes ? typingMs : 0);
}

export function address(path, query) {
  const parameters = new URLSearchParams({ token });
  for (const [name, value] of Object.entries(query)) if (value !== "") parameters.set(name, value);
  return `${path}?${parameters}`;
}

// The time of the program, now.
export function now() {
  return known.nowMs + Date.now() - known.receivedMs;
}

function take(update) {
  const { isWhole, nowMs, rows = [], timeline, ...parts } = update;
  if (isWhole) known.rows.clear();
  for (const row of rows) known.rows.set(row.id, row);
  for (const entry of timeline?.entries ?? []) known.entries.set(entry.id, entry);
  if (timeline !== undefined) known.kept = timeline.kept;
  Object.assign(known, parts, { nowMs, receivedMs: Date.now() });
  const shown = new Set(known.list.order);
  for (const id of known.rows.keys()) if (!shown.has(id)) known.rows.delete(id);
  return update;
}
