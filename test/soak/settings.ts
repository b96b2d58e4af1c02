/** How long a soak is, from the environment. */
const defaultSeconds = 900;
/** Fewer samples than that are no trend. */
const secondsMin = 120;
const hourSeconds = 3_600;
const samplesWanted = 180;
const sampleSecondsMin = 3;

export interface Settings {
  readonly seconds: number;
  readonly sampleSeconds: number;
}

/** Throws with what is wrong and what is allowed. HOURS comes before SECONDS. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const { HOURS = "", SECONDS = "" } = environment;
  const seconds =
    HOURS === "" ? numberOf("SECONDS", SECONDS || String(defaultSeconds)) : numberOf("HOURS", HOURS) * hourSeconds;
  if (seconds < secondsMin) throw new Error(`a soak of ${seconds} s shows nothing; it takes at least ${secondsMin}`);
  return { seconds, sampleSeconds: Math.max(sampleSecondsMin, seconds / samplesWanted) };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`${name} must be a number above 0, not ${text}`);
}
