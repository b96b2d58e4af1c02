// The table of PodProtectors. A row that stays keeps its elements, and so the focus and what is opened.
import { byID, element, setChildren, setText, setTone, toneMark } from "./element.js";
import { known, now } from "./live.js";
import { sparkline } from "./sparkline.js";
import { capital, grouped, isLately, refusedText } from "./words.js";

// By the row's id, in the order of the table.
const shownRows = new Map();

// `explain` is called with the namespace whose pods a person wants to ask about.
export function showRows(explain) {
  const { order } = known.list;
  const rows = order.map((id) => {
    const parts = shownRows.get(id) ?? rowParts(explain);
    showRow(parts, known.rows.get(id));
    return [id, parts];
  });
  shownRows.clear();
  for (const [id, parts] of rows) shownRows.set(id, parts);
  setChildren(
    byID("rows"),
    rows.flatMap(([, { line, more }]) => [line, more]),
  );
}

// Sparklines move while nothing is sent, and refusals become old.
export function rowsAged() {
  for (const [id, parts] of shownRows) {
    const row = known.rows.get(id);
    showGraph(parts, row);
    showRefused(parts, row);
  }
}

export function buttonsOfRows() {
  return Array.from(shownRows.values(), ({ button }) => button);
}

function rowParts(explain) {
  const id = `more-${Math.random().toString(36).slice(2)}`;
  const button = element("button", { type: "button", class: "name", "aria-expanded": "false", "aria-controls": id });
  const workload = element("span", { class: "soft workload" });
  const figure = (label) => element("td", { role: "cell", class: "number", "data-label": label });
  const [mustStay, available, promised, free] = ["Must stay", "Available", "Promised", "Free"].map(figure);
  const refused = figure("Refused");
  const state = element("td", { role: "cell", class: "states" });
  const graph = element("td", { role: "cell", class: "graph", "data-label": "15 min" });
  const name = element("th", { role: "rowheader", scope: "row" }, button, workload);
  const cells = [state, name, mustStay, available, promised, free, graph, refused];
  const line = element("tr", { role: "row", class: "line" }, ...cells);
  const details = element("td", { role: "cell", colspan: String(cells.length) });
  const more = element("tr", { role: "row", class: "more", id, hidden: true }, details);
  button.addEventListener("click", () => {
    more.hidden = !more.hidden;
    button.setAttribute("aria-expanded", String(!more.hidden));
    line.classList.toggle("open", !more.hidden);
  });
  const figures = { mustStay, available, promised, free };
  return { line, more, button, workload, figures, refused, state, graph, details, explain, text: "" };
}

function showRow(parts, row) {
  const text = JSON.stringify(row);
  if (text === parts.text) return;
  parts.text = text;
  const { states, figures, refusals, namespace, name, workload } = row;
  setTone(parts.line, states[0].tone);
  parts.state.replaceChildren(...states.slice(0, 2).map(({ tone, name }) => toneMark(tone, capital(name))));
  setText(parts.button, `${namespace}/${name}`);
  setText(parts.workload, workload);
  for (const [key, cell] of Object.entries(parts.figures)) {
    setText(cell, figures?.[key] === undefined ? "?" : grouped(figures[key]));
  }
  setText(parts.refused, grouped(refusals?.count ?? 0));
  parts.figures.promised.classList.toggle("none", figures?.promised === 0);
  showGraph(parts, row);
  const hadFocus = parts.details.contains(document.activeElement);
  parts.details.replaceChildren(...detailsOf(row, parts.explain));
  showRefused(parts, row);
  if (hadFocus) parts.details.querySelector("button").focus();
}

function showGraph({ graph }, { lows, figures }) {
  if (figures === undefined) graph.replaceChildren();
  else graph.replaceChildren(sparkline(lows, figures.mustStay, now()));
}

// The number is that of the hour; it is faint when none of them is of the last ten minutes.
function showRefused({ refused, details }, { refusals }) {
  refused.classList.toggle("none", refusals === undefined || !isLately(refusals, now()));
  const head = details.querySelector(".refused-times");
  if (head !== null && refusals !== undefined) setText(head, refusedText(refusals, now()));
}

function detailsOf(row, explain) {
  const { states, figures, refusals, namespace, name, core } = row;
  const whys = states
    .filter(({ why }) => why !== "")
    .map(({ tone, name, why }) => element("p", {}, toneMark(tone, capital(name)), " ", why));
  const cells = (figures?.cells ?? []).map(shareItem);
  const button = element("button", { type: "button" }, "Explain a pod of it");
  button.addEventListener("click", () => explain(namespace));
  const command = element("code", {}, `kubectl -n ${namespace} describe podprotector ${name}`);
  return [
    ...whys,
    ...(cells.length === 0 ? [] : [element("ul", { class: "shares", "aria-label": "By cell" }, ...cells)]),
    ...(refusals === undefined ? [] : [lastRefusal(refusals)]),
    element("p", { class: "actions" }, button, command, element("span", { class: "soft" }, `in ${core}`)),
  ];
}

function shareItem({ cell, available, promised, note }) {
  const figures = [`${grouped(available)} available`, promised > 0 ? `${grouped(promised)} promised` : "", note];
  return element("li", {}, element("strong", {}, cell), ` ${figures.filter(Boolean).join(", ")}`);
}

// `showRefused` says above it how often, and when.
function lastRefusal({ last }) {
  return element("blockquote", {}, element("p", { class: "soft refused-times" }), element("p", {}, last));
}
