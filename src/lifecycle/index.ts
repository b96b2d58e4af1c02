/** What a process is made of (component.ts), and how it starts and stops (process.ts). */
export { StartError, type Component } from "./component.ts";
export { runProcess } from "./process.ts";
