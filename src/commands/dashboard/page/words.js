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

// The time of the day, on this machine: 14:03:07
export function clockText(epochMs) {
  return new Date(epochMs).toLocaleTimeString("en-GB");
}

export function fullTimeText(epochMs) {
  return new Date(epochMs).toLocaleString("en-GB");
}
