/** How long something has lasted, for people: the two largest units, and no more digits than matter. */

/**
 * `0.4 s`, `12 s`, `4 m 02 s`, `3 h 05 m`, `2 d 04 h`. A negative age, by a clock that is ahead, is `0 s`. At most 8
 * characters below 100 days.
 */
export function ageText(milliseconds: number): string {
  if (milliseconds < 0) return "0 s";
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${twoDigits(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${twoDigits(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${twoDigits(hours % 24)} h`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
