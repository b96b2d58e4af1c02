/** The table at the end. Pure. */
import { type ServiceResult } from "../statistics.ts";

type Cellular = readonly (string | number)[];

/** The result as lines of at most 80 columns. */
export function resultTable(services: readonly ServiceResult[]): readonly string[] {
  const widths = [10, 5, 6, 9, 8, 9, 10, 9, 11];
  const row = (values: Cellular): string =>
    values
      .map((value, index) =>
        index === 0 ? `  ${String(value).padEnd(widths[0]!)}` : String(value).padStart(widths[index]!),
      )
      .join("");
  // Stands above the columns that it names.
  const groups = `${" ".repeat(25)}${"lowest available".padStart(16)}${"deletions in the disaster".padStart(30)}`;
  return [
    groups,
    row(["service", "pods", "floor", "with", "without", "tried", "admitted", "refused", "no answer"]),
    `  ${"-".repeat(widths.reduce((sum, width) => sum + width, 0))}`,
    ...services.map(({ name, replicas, floor, lowestWith, lowestWithout, deletions }) =>
      row([
        name,
        replicas,
        floor,
        lowestWith,
        lowestWithout,
        deletions.tried,
        deletions.admitted,
        deletions.refused,
        deletions.unanswered,
      ]),
    ),
  ];
}
