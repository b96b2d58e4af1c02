/** What the playground and a demo that stays open print: where the clusters are and what to try. Pure. */

export interface Suggestion {
  readonly command: string;
  /** What will be seen. */
  readonly shows: string;
}

export interface GuideOptions {
  readonly kubeconfigFile: string;
  /** False = kubectl is not on this machine. */
  readonly hasKubectl: boolean;
  readonly suggestions: readonly Suggestion[];
}

/** With kubectl, in the playground. */
export const playgroundSuggestions: readonly Suggestion[] = [
  { command: "kubectl get podprotectors", shows: "how many pods must stay" },
  { command: "kubectl --context worker-1 delete pods -l app=web", shows: "some go, others may not" },
  { command: "kubectl --context worker-2 drain node-1", shows: "goes through" },
  { command: "kubectl scale deployment web --replicas=30", shows: "what must stay follows" },
  { command: "kubectl rollout restart deployment web", shows: "in all cells at once" },
];

/** With kubectl, in the clusters that the demo leaves behind. */
export const demoSuggestions: readonly Suggestion[] = [
  { command: "kubectl get podprotectors", shows: "nothing is free" },
  { command: "kubectl --context worker-1 get pods", shows: "what is left in a cell" },
  { command: "kubectl --context worker-1 delete pods -l app=search", shows: "refused: read why" },
];

const podseidon = "node scripts/n.mjs src/main.ts";

/** Without kubectl. */
const ownSuggestions: readonly Suggestion[] = [
  { command: `${podseidon} status --watch`, shows: "the fleet as it changes" },
  { command: `${podseidon} dashboard`, shows: "the same in your browser" },
];

const commandWidth = 54;

function listed(suggestions: readonly Suggestion[]): readonly string[] {
  return suggestions.map(({ command, shows }) => `  ${command.padEnd(commandWidth)}${shows}`);
}

/** Lines of at most 80 columns, but for the file's name. */
export function guideLines({ kubeconfigFile, hasKubectl, suggestions }: GuideOptions): readonly string[] {
  return [
    "In a second terminal, in this folder:",
    `  export KUBECONFIG=${kubeconfigFile}`,
    "Contexts: core (current, with the PodProtectors), worker-1, worker-2, worker-3.",
    "",
    hasKubectl ? "With kubectl:" : "With kubectl, which is not on this machine (the rest needs only Node):",
    ...listed(suggestions),
    "",
    "With Podseidon's own commands:",
    ...listed(ownSuggestions),
  ];
}
