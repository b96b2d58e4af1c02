// Numbers, times and states in words.

// "Below floor", "OK"
export function capital(text) {
  if (text === "ok") return "OK";
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export function counted(number, one, many = `${one}s`) {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

// 12,480
export function grouped(number) {
  return number.toLocaleString("en");
}

// "4 s", "12 min", "3 h", "9 d". Clocks of two machines differ, so nothing is in the future.
export function ageText(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

// As `podseidon status` has it: what is older belongs, as a rule, to trouble that is over.
const latelyMs = 600_000;

function isLate({ lastMs }, nowMs) {
  return nowMs - lastMs > latelyMs;
}

// Whether any of these refusals is not over yet.
export function isLately({ series }, nowMs) {
  return series.some((one) => !isLate(one, nowMs));
}

// "Refused 12 times lately, last 4 s ago; before that 240 times, last 32 min ago, Events say"
export function refusedText({ series }, nowMs) {
  const times = (some, when) => {
    const count = some.reduce((sum, one) => sum + one.count, 0);
    return `${counted(count, "time")}${when}, last ${ageText(nowMs - some[0].lastMs)} ago`;
  };
  const recent = series.filter((one) => !isLate(one, nowMs));
  const earlier = series.filter((one) => isLate(one, nowMs));
  if (recent.length === 0) return `Refused not lately, but ${times(earlier, "")}, Events say`;
  const before = earlier.length === 0 ? "" : `; before that ${times(earlier, "")}`;
  return `Refused ${times(recent, " lately")}${before}, Events say`;
}

// The time of the day, on this machine: 14:03:07
export function clockText(epochMs) {
  return new Date(epochMs).toLocaleTimeString("en-GB");
}

export function fullTimeText(epochMs) {
  return new Date(epochMs).toLocaleString("en-GB");
}
