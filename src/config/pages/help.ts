/** The texts of --help: of the program, of a role, and of all flags by component; 80 columns, no colour. */
import { actions } from "../reading/argv.ts";
import { environmentPrefix } from "../reading/environment.ts";
import { type Role, roles } from "../flag.ts";
import { flagNames, flags, isUsedBy, type FlagName } from "../flag-table.ts";
import { inputText } from "../types/value-type.ts";

/** The width of a plain terminal. */
const columns = 80;
const indent = " ".repeat(8);

export interface HelpSection {
  readonly title?: string;
  readonly body: string;
}

/** The help of the program: what its roles are, what it does besides, and where its flags are told. */
export function programSections(): HelpSection[] {
  const names = [...roles].map((role) => `  ${role.padEnd(16)}${roleHelp[role].summary}`);
  return [
    { title: "Roles, each with its flags: podseidon --role=ROLE --help", body: linesOf(names) },
    actionSection(),
    sourcesSection(),
  ];
}

/**
 * The help of roles as it is printed: for each role the flags that matter first and two examples; all flags that the
 * roles take when it is the whole help. No role stands for all.
 */
export function roleHelpText(selected: ReadonlySet<Role>, isWhole: boolean): string {
  const chosen = selected.size === 0 ? new Set(roles) : selected;
  const list = [...chosen].join(",");
  const usage = { body: `Usage: podseidon --role=${selected.size === 0 ? "ROLE[,ROLE...]" : list} [--FLAG=VALUE...]` };
  const sections = isWhole
    ? [usage, actionSection(), sourcesSection(), ...flagSections(chosen)]
    : [usage, ...[...chosen].flatMap(firstSections), { body: `All flags: podseidon --role=${list} --help-all` }];
  return `${sections.map(sectionText).join("\n\n")}\n`;
}

function sectionText({ title, body }: HelpSection): string {
  return title === undefined ? body : `${title}:\n${body}`;
}

function firstSections(role: Role): HelpSection[] {
  const { summary, flags: names, examples } = roleHelp[role];
  return [
    { body: `The ${role} ${summary}.` },
    { title: "Flags that matter first", body: linesOf(names.map(flagEntry)) },
    { title: "Examples", body: linesOf(examples.map((line) => `  ${line}`)) },
  ];
}

function actionSection(): HelpSection {
  return { title: "Actions", body: linesOf(Object.entries(actions).map(([name, help]) => entry(`--${name}`, help))) };
}

function sourcesSection(): HelpSection {
  return {
    title: "Flags",
    body: [
      `A flag can also be set by an environment variable, ${environmentPrefix}NAME ` +
        "with the name in upper case and _ for - and ., or by a line NAME: VALUE in the YAML file of --config.",
      "The command line takes precedence over the environment, and the environment over the file.",
    ]
      .flatMap((paragraph) => wrap(paragraph, "  "))
      .join("\n"),
  };
}

/** Every flag of the roles once: those that people use by component; then the rarely needed, and without effect. */
function flagSections(selected: ReadonlySet<Role>): HelpSection[] {
  const used = flagNames.filter((name) => isUsedBy(name, selected));
  const own = used.filter((name) => flags[name].ignored === undefined);
  const groups = Map.groupBy(
    own.filter((name) => flags[name].isRare !== true),
    (name) => flags[name].group,
  );
  const reasons = Map.groupBy(
    used.filter((name) => flags[name].ignored !== undefined),
    (name) => flags[name].ignored ?? "",
  );
  return [
    ...Array.from(groups, ([{ title, roles: users }, names]) => ({
      title: `${title} (${users.length === roles.length ? "all roles" : users.join(", ")})`,
      body: linesOf(names.map(flagEntry)),
    })),
    {
      title: "Rarely needed flags",
      body: linesOf(own.filter((name) => flags[name].isRare === true).map(flagEntry)),
    },
    {
      title: "Flags of upstream without effect, accepted so that its arguments start",
      body: linesOf(
        Array.from(reasons, ([reason, names]) =>
          linesOf([...names.map((name) => `  ${heading(name)}`), ...wrap(reason, indent)]),
        ),
      ),
    },
  ];
}

/** The default as the help and the documentation show it; undefined = nothing worth a word. */
export function defaultText(name: FlagName): string | undefined {
  const entryOf = flags[name];
  const text = inputText(entryOf.type.format(entryOf.default));
  return text === "" ? undefined : text;
}

const linesOf = (entries: readonly string[]): string => entries.join("\n");

/** The flag and what its value is. */
function heading(name: FlagName): string {
  const { type } = flags[name];
  return `--${name}${type.shape === "switch" ? "[=BOOL]" : `=${type.placeholder}`}`;
}

function flagEntry(name: FlagName): string {
  const { help } = flags[name];
  const byDefault = defaultText(name);
  return entry(heading(name), byDefault === undefined ? help : `${help} (default ${byDefault})`);
}

function entry(title: string, text: string): string {
  return [`  ${title}`, ...wrap(text, indent)].join("\n");
}

/** Breaks at spaces, and a list that is longer than a line after its commas. */
function wrap(text: string, margin: string): string[] {
  const lines: string[] = [];
  let line = margin;
  for (const word of text.split(" ")) {
    const parts = margin.length + word.length > columns ? word.split(/(?<=,)/) : [word];
    parts.forEach((part, index) => {
      const gap = line === margin || index > 0 ? "" : " ";
      if (line !== margin && line.length + gap.length + part.length > columns) {
        lines.push(line);
        line = margin + part;
      } else line += gap + part;
    });
  }
  return [...lines, line];
}

/** What people need first of each role: what it is, the ten flags that matter, two examples. For --help. */
export interface RoleHelp {
  /** One line of at most 60 characters. */
  readonly summary: string;
  /** The most needed first. */
  readonly flags: readonly FlagName[];
  /** Each with a comment before it, as for a shell. */
  readonly examples: readonly string[];
}

export const roleHelp: Readonly<Record<Role, RoleHelp>> = {
  generator: {
    summary: "keeps a PodProtector for each workload; one per core",
    flags: [
      "core-kube-config",
      "generator-default-mode",
      "generator-sources",
      "generator-source-selector",
      "deployment-plugin-protection-selector",
      "generator-single-replica",
      "generator-mass-change-policy",
      "generator-leader-elector-namespace",
      "cell-lease-namespace",
      "klog-v",
    ],
    examples: [
      "# Judge and report, refuse nothing; the API server of a kubeconfig.",
      "podseidon --role=generator --core-kube-config=core.kubeconfig \\",
      "  --generator-default-mode=shadow",
      "# In a pod, by its ServiceAccount, for some Deployments only.",
      "podseidon --role=generator --deployment-plugin-protection-selector=tier=front",
    ],
  },
  aggregator: {
    summary: "counts the pods of a cell; one leader per cell",
    flags: [
      "aggregator-cell-id",
      "core-kube-config",
      "worker-kube-config",
      "cell-lease-namespace",
      "worker-kube-target-namespace",
      "aggregator-pod-label-selector",
      "podprotector-source-provider",
      "update-trigger-dummy-pod-namespace",
      "aggregator-leader-elector-namespace",
      "klog-v",
    ],
    examples: [
      "# One cell of a fleet: its pods in the worker cluster, counts in the core.",
      "podseidon --role=aggregator --aggregator-cell-id=worker-1 \\",
      "  --core-kube-config=core.kubeconfig --worker-kube-config=worker.kubeconfig",
      "# One cluster that is core and worker, in a pod.",
      "podseidon --role=aggregator --aggregator-cell-id=default",
    ],
  },
  webhook: {
    summary: "admits or refuses pod deletions; any number of replicas",
    flags: [
      "core-kube-config",
      "webhook-https-enable",
      "webhook-https-cert-file",
      "webhook-https-key-file",
      "webhook-https-bind-addr",
      "webhook-client-ca-file",
      "webhook-client-cells",
      "webhook-worker-client-provider",
      "webhook-dry-run",
      "klog-v",
    ],
    examples: [
      "# HTTPS on port 8843; judge and record, refuse nothing.",
      "podseidon --role=webhook --core-kube-config=core.kubeconfig \\",
      "  --webhook-dry-run --webhook-https-enable --webhook-https-bind-addr=:: \\",
      "  --webhook-https-cert-file=tls.crt --webhook-https-key-file=tls.key",
      "# Plain HTTP on this host, to try it.",
      "podseidon --role=webhook --core-kube-config=core.kubeconfig --klog-v=4",
    ],
  },
  "update-trigger": {
    summary: "keeps the pod watch of a quiet cell moving",
    flags: [
      "worker-kube-config",
      "update-trigger-dummy-pod-namespace",
      "update-trigger-dummy-pod-name",
      "update-trigger-dummy-pod-labels",
      "update-trigger-dummy-pod-annotations",
      "update-trigger-dummy-pod-image",
      "update-trigger-dummy-pod-scheduler",
      "update-trigger-update-frequency",
      "healthz-port",
      "klog-v",
    ],
    examples: [
      "# Alone, beside an aggregator with --update-trigger-enable=false.",
      "podseidon --role=update-trigger --worker-kube-config=worker.kubeconfig",
      "# Touch a pod in its own namespace every 5 seconds.",
      "podseidon --role=update-trigger --update-trigger-update-frequency=5s \\",
      "  --update-trigger-dummy-pod-namespace=podseidon-update-trigger",
    ],
  },
};
