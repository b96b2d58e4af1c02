/** What the playground and a demo that stays open print: where the clusters are and what to try. Pure. */

export interface Suggestion {
  readonly command: string;
  /** What will be seen. */
  readonly shows: string;
}

export interface Suggestions {
  readonly kubectl: readonly Suggestion[];
  /** Without kubectl. */
  readonly own: readonly Suggestion[];
}

export interface GuideOptions {
  readonly kubeconfigFile: string;
  /** False = kubectl is not on this machine. */
  readonly hasKubectl: boolean;
  readonly suggestions: Suggestions;
}

const podseidon = "node scripts/n.mjs src/main.ts";
const status = { command: `${podseidon} status --watch`, shows: "the fleet as it changes" };
const dashboard = { command: `${podseidon} dashboard`, shows: "the same in your browser" };

export const playgroundSuggestions: Suggestions = {
  kubectl: [
    { command: "kubectl get podprotectors", shows: "how many pods must stay" },
    { command: "kubectl --context worker-1 delete pods -l app=web", shows: "some go, others may not" },
    { command: "kubectl --context worker-2 drain node-1", shows: "goes through" },
    { command: "kubectl scale deployment web --replicas=30", shows: "what must stay follows" },
    { command: "kubectl rollout restart deployment web", shows: "in all cells at once" },
  ],
  own: [status, { command: `${podseidon} explain deployment web`, shows: "how many may go now" }, dashboard],
};

/** In the clusters that the demo leaves behind. */
export const demoSuggestions: Suggestions = {
  kubectl: [
    { command: "kubectl get podprotectors", shows: "nothing is free" },
    { command: "kubectl --context worker-1 get pods", shows: "what is left in a cell" },
    { command: "kubectl --context worker-1 delete pods -l app=search", shows: "refused: read why" },
  ],
  own: [status, dashboard],
};

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
    ...listed(suggestions.kubectl),
    "",
    "With Podseidon's own commands:",
    ...listed(suggestions.own),
  ];
}
