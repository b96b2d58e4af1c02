// How many pods were available in the last quarter of an hour, with a line for those that must stay.
import { drawing } from "./element.js";

// As model/fleet.ts has them.
const slotMs = 15_000;
const slotsMax = 60;
const width = 132;
const height = 30;
const edge = 3;

// The lowest number of each slot up to now; undefined = before anything was known.
export function lowestBySlot(marks, nowMs) {
  const last = Math.max(Math.floor(nowMs / slotMs), marks.at(-1)?.[0] ?? 0);
  const values = [];
  let held;
  let next = 0;
  for (let slot = last - slotsMax + 1; slot <= last; slot++) {
    while (next < marks.length && marks[next][0] < slot) held = marks[next++][2];
    const isMarked = next < marks.length && marks[next][0] === slot;
    values.push(isMarked ? marks[next][1] : held);
    if (isMarked) held = marks[next++][2];
  }
  return values;
}

export function sparkline(marks, mustStay, nowMs) {
  const values = lowestBySlot(marks, nowMs);
  const known = values.filter((value) => value !== undefined);
  const [low, high] = [Math.min(...known, mustStay), Math.max(...known, mustStay)];
  const spread = Math.max(1, high - low);
  const x = (index) => ((index / slotsMax) * width).toFixed(1);
  const y = (value) => (height - edge - ((value - low) / spread) * (height - 2 * edge)).toFixed(1);
  const label = known.length === 0 ? "Not known yet" : `Lowest ${Math.min(...known)}, must stay ${mustStay}`;
  const picture = drawing("svg", {
    class: "sparkline",
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  });
  let path = "";
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    path += `${path === "" ? `M${x(index)} ` : "V"}${y(value)}H${x(index + 1)}`;
  }
  if (mustStay > 0) picture.append(drawing("path", { class: "floor", d: `M0 ${y(mustStay)}H${width}` }));
  if (path !== "") picture.append(drawing("path", { class: "available", d: path }));
  return picture;
}
