/**
 * Whether a quantity grows. The rule, in three sentences:
 *
 * Of each five samples in a row of the second half the smallest counts, because garbage and connections come and go,
 * and a leak stays. A line is laid through these by least squares. The quantity grows when the line rises, from the
 * first point to the last, by more than three times the scatter of the points about it, and by more than its slack.
 */
export interface Point {
  readonly seconds: number;
  readonly value: number;
}

export interface Trend {
  /** By how much the line rises over the points; NaN when there are fewer than three. */
  readonly growth: number;
  /** Standard deviation of the points about the line. */
  readonly scatter: number;
  /** The line where it ends. */
  readonly last: number;
}

const windowSamples = 5;
const scattersAllowed = 3;

/** The smallest value of each full window, at the mean of its times. */
export function leastOfWindows(samples: readonly Point[]): readonly Point[] {
  const found: Point[] = [];
  for (let first = 0; first + windowSamples <= samples.length; first += windowSamples) {
    const window = samples.slice(first, first + windowSamples);
    found.push({
      seconds: mean(window.map(({ seconds }) => seconds)),
      value: Math.min(...window.map((one) => one.value)),
    });
  }
  return found;
}

/** The line through the points, by least squares. */
export function trendOf(points: readonly Point[]): Trend {
  // Two points have no scatter.
  if (points.length < 3) return { growth: Number.NaN, scatter: Number.NaN, last: Number.NaN };
  const atSeconds = mean(points.map(({ seconds }) => seconds));
  const atValue = mean(points.map(({ value }) => value));
  const sum = (term: (point: Point) => number): number => points.reduce((total, point) => total + term(point), 0);
  const slope =
    sum(({ seconds, value }) => (seconds - atSeconds) * (value - atValue)) /
    sum(({ seconds }) => (seconds - atSeconds) ** 2);
  const lineAt = (seconds: number): number => atValue + slope * (seconds - atSeconds);
  const squares = sum(({ seconds, value }) => (value - lineAt(seconds)) ** 2);
  const [first, last] = [points[0]!.seconds, points.at(-1)!.seconds];
  return { growth: slope * (last - first), scatter: Math.sqrt(squares / (points.length - 2)), last: lineAt(last) };
}

/** The samples of the second half of a run. */
export function secondHalf(samples: readonly Point[], runSeconds: number): readonly Point[] {
  return samples.filter(({ seconds }) => seconds >= runSeconds / 2);
}

/** True when it grows by the rule above. Too few points, or one that is no number, is a finding, too. */
export function grows({ growth, scatter }: Trend, slack: number): boolean {
  return !(growth <= Math.max(slack, scattersAllowed * scatter));
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}
