/** Which keys are in which namespace; a namespace without keys costs nothing. */
export class KeysByNamespace<K> {
  readonly #keys = new Map<string, Set<K>>();

  add(namespace: string, key: K): void {
    const known = this.#keys.get(namespace);
    if (known === undefined) this.#keys.set(namespace, new Set([key]));
    else known.add(key);
  }

  delete(namespace: string, key: K): void {
    const known = this.#keys.get(namespace);
    known?.delete(key);
    if (known?.size === 0) this.#keys.delete(namespace);
  }

  of(namespace: string): Iterable<K> {
    return this.#keys.get(namespace) ?? [];
  }

  /** Of all namespaces. */
  *all(): IterableIterator<K> {
    for (const keys of this.#keys.values()) yield* keys;
  }
}
