// Asks the program what would become of the deletion of a pod.
import { byID, element } from "./element.js";
import { address } from "./live.js";

const rulerLength = 20;

export function startExplain() {
  byID("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    void ask();
  });
}

export function explainIn(namespace) {
  byID("explain-namespace").value = namespace;
  byID("explain-pod").focus();
}

async function ask() {
  const [cell, namespace, pod] = ["cell", "namespace", "pod"].map((name) => byID(`explain-${name}`).value.trim());
  const place = byID("explanation");
  place.hidden = false;
  place.replaceChildren(await answerTo({ cell, namespace, pod, columns: columnsOf(place) }));
  place.focus();
}

// How many characters fit into a line.
function columnsOf(place) {
  const ruler = element("span", {}, "0".repeat(rulerLength));
  const line = element("pre", {}, ruler);
  place.replaceChildren(line);
  const columns = Math.floor((line.clientWidth / ruler.getBoundingClientRect().width) * rulerLength);
  place.replaceChildren(element("p", { class: "soft" }, "Looking"));
  return columns;
}

async function answerTo(question) {
  try {
    const response = await fetch(address("explain", question));
    if (!response.ok) return failure(await response.text());
    const { problem, text } = await response.json();
    return problem === undefined ? element("pre", {}, text) : failure(problem);
  } catch {
    return failure("No answer: is podseidon dashboard still running?");
  }
}

function failure(text) {
  return element("p", { class: "problem" }, text);
}
