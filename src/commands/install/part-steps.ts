/**
 * The steps of each part, in the only safe order: accounts and rights before what uses them, and the webhook
 * configuration last. Whatever is cut off after any of them, deletions go on as before, or are guarded.
 */
import { fieldsOf, type Json } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { objectsStep, readObject, type Site, type Step } from "./apply.ts";
import { clientFilesStep } from "./client-files.ts";
import { gateStep } from "./gate.ts";
import { handOverStep, type ServerAddress } from "./hand-over.ts";
import {
  authoritiesName,
  cellAccount,
  cellObjects,
  coreObjects,
  isWebhook,
  secretNames,
  singleObjects,
  systemNamespace,
  webhookName,
  workerObjects,
} from "./objects.ts";
import { hostOf } from "./options.ts";
import { base64, readCells, type Settings, settingsObject } from "./settings.ts";

const definition = "Make the CRD of PodProtectors";
const rights = "Make namespaces, accounts, rights and policies";

/** `cells`: those that the webhook serves already. */
export function coreSteps(core: Site, settings: Settings, cells: readonly string[]): readonly Step[] {
  const objects = coreObjects({ ...settings, cells, webhookHost: hostOf(settings.webhookAddress ?? "") });
  // Without a cell the webhook has nothing to start with: the Secrets that it mounts come with the first worker.
  const workloads = objects.filter((object) => isWorkload(object) && (cells.length > 0 || !isWebhook(object)));
  return [
    objectsStep(definition, core, objects.filter(isDefinition)),
    objectsStep(rights, core, [...objects.filter(isSetting), settingsObject(settings)]),
    objectsStep(
      cells.length > 0
        ? "Start generator and webhook"
        : "Start the generator; the webhook starts with the first worker",
      core,
      workloads,
    ),
  ];
}

export interface WorkerPlan {
  readonly core: Site;
  readonly worker: Site;
  readonly settings: Settings;
  readonly cell: string;
  /** That the webhook served before. */
  readonly cells: readonly string[];
  readonly coreAddress: ServerAddress;
  readonly workerAddress: ServerAddress;
  readonly tokenSeconds: number;
  /** For the files of the API servers. */
  readonly folder: string;
}

export function workerSteps(plan: WorkerPlan): readonly Step[] {
  const { core, worker, settings, cell } = plan;
  const { image, callers } = settings;
  const webhookAddress = settings.webhookAddress ?? "";
  const objects = workerObjects({ image, cell, webhookAddress, caBundle: undefined });
  const cells = [...new Set([...plan.cells, cell])].toSorted();
  const files = { hasNew: false };
  const identify = clientFilesStep({
    core,
    cell,
    webhookAddress,
    folder: plan.folder,
    written: () => void (files.hasNew = true),
  });
  const untilThen = (): string | undefined =>
    files.hasNew
      ? `the API servers of ${cell} cannot show their certificate yet: put the files of ${plan.folder} on their ` +
        "hosts and start them with it (docs/install.md#api-servers-as-callers); then run this again"
      : undefined;
  return [
    objectsStep(`Make the account of the cell ${cell} in the core`, core, cellObjects(cell)),
    objectsStep(`${rights} in the worker`, worker, objects.filter(isSetting)),
    ...tokenSteps(plan),
    ...(callers === "certificates" ? [identify] : []),
    serveStep(plan, cells),
    objectsStep("Start the aggregator", worker, objects.filter(isWorkload)),
    gateStep({
      site: worker,
      cell,
      configuration: () =>
        configurationWith(core, (caBundle) => workerObjects({ image, cell, webhookAddress, caBundle })),
      outline: configurationIn(objects),
      untilThen,
    }),
  ];
}

/** How often others may come in between; each of them is a command that somebody has typed. */
const servedTriesMax = 10;

/** Of two workers that are installed at once, the later write must not take the cell of the other away. */
function serveStep({ core, settings, cell }: WorkerPlan, planned: readonly string[]): Step {
  const { image, callers, webhookAddress = "" } = settings;
  const webhook = (cells: readonly string[]): readonly Json[] =>
    coreObjects({ image, callers, cells, webhookHost: hostOf(webhookAddress) }).filter(isWebhook);
  const title = `Let the webhook of the core serve the cells ${planned.join(", ")}`;
  return {
    ...objectsStep(title, core, webhook(planned)),
    async run(tell) {
      let written: readonly string[] = [];
      for (let tries = 0; tries < servedTriesMax; tries++) {
        const read = await readCells(core);
        if (read instanceof Problem) return read.message;
        const cells = [...new Set([...read, cell])].toSorted();
        if (cells.join() === written.join()) return undefined;
        const problem = await objectsStep(title, core, webhook(cells)).run(tell);
        if (problem !== undefined) return problem;
        written = cells;
      }
      return `${core.client.cluster}: other workers are installed all the time; run this again`;
    },
  };
}

/** Access to each other, with tokens that end. */
function tokenSteps(plan: WorkerPlan): readonly Step[] {
  const { core, worker, cell, coreAddress, workerAddress, tokenSeconds: seconds } = plan;
  return [
    handOverStep({
      title: "Give the aggregator access to PodProtectors in the core",
      from: core,
      account: cellAccount(cell),
      address: coreAddress,
      to: worker,
      secret: secretNames.core,
      key: "kubeconfig",
      tokenKey: "token",
      seconds,
    }),
    handOverStep({
      title: "Give the webhook access to evicted pods in the worker",
      from: worker,
      account: webhookName,
      address: workerAddress,
      to: core,
      secret: secretNames.workers,
      key: cell,
      tokenKey: `${cell}.token`,
      seconds,
    }),
  ];
}

export function singleSteps(site: Site, settings: Settings): readonly Step[] {
  const { image } = settings;
  const objects = singleObjects({ image, caBundle: undefined });
  return [
    objectsStep(definition, site, objects.filter(isDefinition)),
    objectsStep(rights, site, [...objects.filter(isSetting), settingsObject(settings)]),
    objectsStep("Start generator, aggregator and webhook", site, objects.filter(isWorkload)),
    gateStep({
      site,
      cell: "default",
      configuration: () => configurationWith(site, (caBundle) => singleObjects({ image, caBundle })),
      outline: configurationIn(objects),
      untilThen: () => undefined,
    }),
  ];
}

/** With the authorities of the webhook's certificate, as the generator publishes them. A text = why there are none. */
async function configurationWith(
  core: Site,
  objectsWith: (caBundle: string) => readonly Json[],
): Promise<Json | string> {
  const metadata = { namespace: systemNamespace, name: authoritiesName };
  const read = await readObject(core, { apiVersion: "v1", kind: "ConfigMap", metadata });
  if (!read.ok) return read.problem;
  const authorities = fieldsOf(read.value?.["data"])["ca.crt"];
  if (typeof authorities === "string" && authorities !== "") return configurationIn(objectsWith(base64(authorities)));
  const place = `ConfigMap ${systemNamespace}/${authoritiesName}`;
  return `${core.client.cluster}: the generator has published no authority in ${place}: look at its pods`;
}

function configurationIn(objects: readonly Json[]): Json {
  return fieldsOf(objects.find(isConfiguration));
}

function isDefinition({ kind }: Json): boolean {
  return kind === "CustomResourceDefinition";
}

function isConfiguration({ kind }: Json): boolean {
  return kind === "ValidatingWebhookConfiguration";
}

/** What runs, and what belongs to it. */
function isWorkload({ kind }: Json): boolean {
  return kind === "Deployment" || kind === "Service" || kind === "PodDisruptionBudget";
}

function isSetting(object: Json): boolean {
  return !isDefinition(object) && !isConfiguration(object) && !isWorkload(object);
}
