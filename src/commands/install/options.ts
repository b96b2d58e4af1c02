/** The options of `podseidon install`, and what is wrong with them. */
import { isIP } from "node:net";
import { cellIDRule, isCellID } from "../../api/cell-id.ts";
import { masterUrlProblem } from "../../config/types/address.ts";
import { parseDurationMs } from "../../config/types/duration.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { coreOptions, invalid, outputOption, readClusterChoice, workerOption } from "../clusters/options.ts";
import { type CommandOption, type CommandOptions, valueOf } from "../command.ts";
import { type Callers } from "./objects.ts";

export type Part = "core" | "worker" | "single" | "systemd";
export const parts: readonly Part[] = ["core", "worker", "single", "systemd"];

export const installOptions: readonly CommandOption[] = [
  // The manifests have the namespace in many places.
  ...coreOptions.filter(({ usage }) => !usage.startsWith("--cell-lease-namespace")),
  workerOption,
  { usage: "--image <reference>", description: "Where the clusters pull Podseidon from" },
  { usage: "--webhook-address <host>", description: "HOST or HOST:PORT by which workers call it" },
  { usage: "--callers <how>", description: "certificates (default) or network tells who calls" },
  { usage: "--core-server <url>", description: "The core's API server as the worker reaches it" },
  { usage: "--worker-server <url>", description: "The worker's API server as the core reaches it" },
  { usage: "--token-lifetime <duration>", description: "Of the tokens for the other cluster; 168h" },
  { usage: "--cells <names>", description: "With -o yaml or systemd: cells, such as a,b" },
  { usage: "--out <folder>", description: "For the API servers' files, or those of systemd" },
  { ...outputOption, description: "table (default), json, or yaml to print objects" },
  { usage: "--dry-run", description: "Print the plan, and do nothing" },
  { usage: "--yes", description: "Carry the plan out" },
];

export type Output = "table" | "json" | "yaml";

export interface InstallOptions {
  readonly part: Part;
  readonly output: Output;
  readonly isDryRun: boolean;
  readonly isConfirmed: boolean;
  /** Undefined = as it was before. */
  readonly image: string | undefined;
  readonly webhookAddress: string | undefined;
  readonly callers: Callers | undefined;
  readonly coreServer: string | undefined;
  readonly workerServer: string | undefined;
  readonly tokenSeconds: number;
  readonly cells: readonly string[];
  readonly out: string | undefined;
  /** Of a worker that is installed. */
  readonly cell: string | undefined;
}

/** As docs/install.md has it by hand. */
const tokenSecondsDefault = 168 * 3_600;
/** API servers refuse less. */
const tokenSecondsMin = 600;
/** Ten years; API servers may give less. */
const tokenSecondsMax = 3_650 * 24 * 3_600;
/** Options that only some parts have a use for. */
const onlyFor: Readonly<Record<string, readonly Part[]>> = {
  worker: ["worker"],
  core: ["core", "worker", "single"],
  kubeconfig: ["core", "worker", "single"],
  output: ["core", "worker", "single"],
  image: ["core", "worker", "single"],
  "webhook-address": ["core", "worker"],
  callers: ["core"],
  "core-server": ["worker"],
  "worker-server": ["worker"],
  "token-lifetime": ["worker"],
  cells: ["core", "worker", "systemd"],
  out: ["worker", "systemd"],
};

/** Checks every value. */
export function readInstallOptions(part: Part, options: CommandOptions): InstallOptions | Problem {
  const stranger = Object.keys(onlyFor).find((name) => options.has(name) && onlyFor[name]?.includes(part) !== true);
  if (stranger !== undefined)
    return new Problem(`option --${stranger} means nothing for ${part}; it is for ${onlyFor[stranger]?.join(", ")}`);
  const output = valueOf(options, "output") ?? "table";
  if (!isOutput(output)) return invalid("output", output, "is unknown", "table, json or yaml");
  const callers = valueOf(options, "callers");
  if (callers !== undefined && callers !== "certificates" && callers !== "network")
    return invalid("callers", callers, "is unknown", "certificates or network");
  const tokenSeconds = readLifetime(valueOf(options, "token-lifetime"));
  const problems = [
    tokenSeconds,
    checkText(options, "image", imageProblem, "a reference such as images.example.com/podseidon:0.1.0"),
    checkText(options, "webhook-address", addressProblem, addressAllowed),
    checkText(options, "core-server", serverProblem, "a URL such as https://core.example.com:6443"),
    checkText(options, "worker-server", serverProblem, "a URL such as https://worker.example.com:6443"),
  ];
  const cells = readCells(valueOf(options, "cells"));
  const problem = [...problems, cells].find((one) => one instanceof Problem);
  if (problem instanceof Problem) return problem;
  const isPrinted = output === "yaml" || part === "systemd";
  const cell = isPrinted ? undefined : readCell(part, options);
  if (cell instanceof Problem) return cell;
  if (!isPrinted && options.has("cells"))
    return new Problem("option --cells goes with -o yaml; install worker adds its cell to the core by itself");
  return {
    part,
    output,
    isDryRun: options.has("dry-run"),
    isConfirmed: options.has("yes"),
    image: valueOf(options, "image"),
    webhookAddress: valueOf(options, "webhook-address"),
    callers,
    coreServer: valueOf(options, "core-server"),
    workerServer: valueOf(options, "worker-server"),
    tokenSeconds: tokenSeconds as number,
    cells: cells as readonly string[],
    out: valueOf(options, "out"),
    cell,
  };
}

function isOutput(text: string): text is Output {
  return text === "table" || text === "json" || text === "yaml";
}

function checkText(
  options: CommandOptions,
  name: string,
  problemOf: (text: string) => string | undefined,
  allowed: string,
): Problem | undefined {
  const value = valueOf(options, name);
  const problem = value === undefined ? undefined : problemOf(value);
  return problem === undefined ? undefined : invalid(name, value ?? "", problem, allowed);
}

function readLifetime(text: string | undefined): number | Problem {
  if (text === undefined) return tokenSecondsDefault;
  const allowed = "a duration from 10m to 87600h, such as 720h";
  const ms = parseDurationMs(text);
  if (ms === undefined) return invalid("token-lifetime", text, "is no duration", allowed);
  const seconds = Math.floor(ms / 1_000);
  if (seconds < tokenSecondsMin || seconds > tokenSecondsMax)
    return invalid("token-lifetime", text, "is out of range", allowed);
  return seconds;
}

function imageProblem(text: string): string | undefined {
  if (!/^[a-z0-9][\w.:/@-]{0,500}$/i.test(text)) return "is no reference of an image";
  // Nothing but a mistake: the name in the manifests, which no registry has.
  return text.startsWith("podseidon.invalid/") ? "is what no registry has" : undefined;
}

const addressAllowed = "HOST or HOST:PORT, such as podseidon.example.com, with a port from 1 to 65535";

/** The host of an address, without the brackets of IPv6; undefined = it is none. */
export function hostOf(address: string): string | undefined {
  const [, bracketed, host, port] = /^(?:\[([0-9a-f:]+)\]|([^:/\s[\]]+))(?::(\d{1,5}))?$/i.exec(address) ?? [];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return undefined;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : undefined;
  if (host === undefined) return undefined;
  const isName =
    host.length <= 253 && host.split(".").every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label));
  return isIP(host) === 4 || (isName && !/^[\d.]+$/.test(host)) ? host : undefined;
}

function addressProblem(text: string): string | undefined {
  return hostOf(text) === undefined ? "is no address (lower-case name or IP address, and perhaps a port)" : undefined;
}

function serverProblem(text: string): string | undefined {
  return text.startsWith("https://") ? masterUrlProblem(text) : "is no https URL";
}

/** It stands in the name of a ServiceAccount, and in keys beside `CELL.token`. */
const cellRule = 'lower-case letters, digits, "-" and "." between them, at most 63 characters, not ending in .token';

function isAccountCell(cell: string): boolean {
  return isCellID(cell) && /^[a-z0-9]+((-+|[.])[a-z0-9]+)*$/.test(cell) && !cell.endsWith(".token");
}

function readCells(text: string | undefined): readonly string[] | Problem {
  if (text === undefined) return [];
  const cells = text.split(",");
  const bad = cells.find((cell) => !isAccountCell(cell));
  if (bad !== undefined) return invalid("cells", bad, "is no name of a cell with an account", cellRule);
  const twice = cells.find((cell, index) => cells.indexOf(cell) !== index);
  return twice === undefined ? cells : invalid("cells", twice, "stands twice", "each name once");
}

/** Also how many clusters there are. */
function readCell(part: Part, options: CommandOptions): string | undefined | Problem {
  const choice = readClusterChoice(options);
  if (choice instanceof Problem) return choice;
  if (choice.cores.size !== 1) return new Problem("give one --core at a time");
  if (part !== "worker") return undefined;
  const [cell, ...others] = choice.workers.keys();
  if (cell === undefined || others.length > 0)
    return new Problem(`give one --worker CELL=CONTEXT at a time; a cell is ${cellIDRule}`);
  if (isAccountCell(cell)) return cell;
  return new Problem(`option --worker: the cell ${quote(cell)} is no name for an account; allowed: ${cellRule}`);
}
