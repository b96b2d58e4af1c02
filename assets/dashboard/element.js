// Makes and changes elements. Texts become text nodes, never markup: names of objects are written by others.

const svgNamespace = "http://www.w3.org/2000/svg";

// `attributes`: undefined and false are left out, true is an empty attribute.
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(svgNamespace, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function byID(id) {
  return document.getElementById(id);
}

// Leaves a text that is the same alone, so that screen readers do not say it again.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setTone(node, tone) {
  if (node.dataset.tone !== tone) node.dataset.tone = tone;
}

// Makes the children of `parent` those of `wanted`, in that order, and moves only what is not in its place.
export function setChildren(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of Array.from(parent.children)) if (!kept.has(child)) child.remove();
  for (const [index, child] of wanted.entries()) {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
  }
}

// A shape and a word for a tone: colour alone tells nothing.
export function toneMark(tone, word) {
  const shape = element("span", { class: "shape", "aria-hidden": "true" });
  return element("span", { class: "state", "data-tone": tone }, shape, element("span", {}, word));
}
