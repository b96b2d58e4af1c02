/** What the cores of a world are called. */

/** The name of the first core, and the only one of most worlds; and that of the second. */
export const firstCore = "core";
export const secondCore = "east";

/** The name of the machine of its API server. */
export function nodeOfCore(name: string): string {
  return name === firstCore ? name : `core-${name}`;
}

export function urlOfCore(name: string): string {
  return `http://${nodeOfCore(name)}`;
}

/** Where there are generators. */
export const generatorsOfCore = 2;

/** The name of one of its generators; they are numbered from 1. */
export function generatorOf(core: string, number: number): string {
  return core === firstCore ? `generator-${number}` : `generator-${core}-${number}`;
}
