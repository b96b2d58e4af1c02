/** Makes an episode small: drops steps, objects and parts of bodies as long as what is interesting about it stays. */
import { type Episode, type ReviewStep } from "./episode.ts";
import { type Outcome, play } from "./play.ts";

/** An episode takes some 50 ms. */
const triesMax = 1_000;

export async function minimise(given: Episode, isInteresting: (outcome: Outcome) => boolean): Promise<Episode> {
  const found = { episode: given };
  let tries = 0;
  const attempt = async (candidate: Episode): Promise<boolean> => {
    tries += 1;
    if (tries > triesMax || !isInteresting(await play(candidate))) return false;
    found.episode = candidate;
    return true;
  };
  for (let size = given.steps.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < found.episode.steps.length;) {
      const isGone = await attempt({ ...found.episode, steps: found.episode.steps.toSpliced(at, size) });
      if (!isGone) at += size;
    }
  }
  for (let at = 0; at < found.episode.protectors.length;) {
    if (!(await attempt({ ...found.episode, protectors: found.episode.protectors.toSpliced(at, 1) }))) at += 1;
  }
  for (const name of Object.keys(given.settings)) {
    const { [name as keyof Episode["settings"]]: _, ...settings } = found.episode.settings;
    await attempt({ ...found.episode, settings });
  }
  for (const name of Object.keys(given.pods)) {
    const { [name]: _, ...pods } = found.episode.pods;
    await attempt({ ...found.episode, pods });
  }
  for (const [at, step] of found.episode.steps.entries()) {
    if (step.type === "review")
      await shrinkBody(step, (body) => attempt(withStep(found.episode, at, { ...step, body })));
  }
  return found.episode;
}

function withStep(episode: Episode, at: number, step: ReviewStep): Episode {
  return { ...episode, steps: episode.steps.with(at, step) };
}

/** Takes one member after the other out of a body that is JSON, the outermost first. */
async function shrinkBody({ body }: ReviewStep, attempt: (body: string) => Promise<boolean>): Promise<void> {
  let text = body;
  for (const path of pathsOf(body)) {
    const smaller = without(text, path);
    if (smaller !== undefined && (await attempt(smaller))) text = smaller;
  }
}

function pathsOf(body: string): string[][] {
  const paths: string[][] = [];
  const visit = (value: unknown, path: string[]): void => {
    if (typeof value !== "object" || value === null || path.length > 6) return;
    for (const [key, child] of Object.entries(value)) {
      paths.push([...path, key]);
      visit(child, [...path, key]);
    }
  };
  visit(parsed(body), []);
  return paths.toSorted((a, b) => a.length - b.length);
}

function without(body: string, path: readonly string[]): string | undefined {
  const root = parsed(body);
  let parent: unknown = root;
  for (const key of path.slice(0, -1)) parent = (parent as Record<string, unknown> | undefined)?.[key];
  const last = path.at(-1);
  if (typeof parent !== "object" || parent === null || last === undefined || !Object.hasOwn(parent, last))
    return undefined;
  Reflect.deleteProperty(parent, last);
  return JSON.stringify(root);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
