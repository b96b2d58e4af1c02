/** What a process is made of (component.ts) and how it lives (process.ts). */
export { StartError, type Component, type Health, type HealthCheck } from "./component.ts";
export { runProcess, stopDeadlineMs, type ProcessEnd, type ProcessOptions, type StopSignal } from "./process.ts";
