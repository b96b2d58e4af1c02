/**
 * A set trie (I. Savnik, "Index Data Structure for Fast Subset and Superset Queries", 2013): stores items under sets of
 * letters and finds all items whose set is a subset of a given one. A set is the ascending word of its letters, so it
 * has one path from the root. A query only walks paths that exist and whose letters it has.
 */
import { assert } from "../util/assert.ts";
import { type Word } from "./alphabet.ts";

/** Most words have one item, so a Set is made for the others only. */
interface Node<Item> {
  children: Map<number, Node<Item>> | undefined;
  item: Item | undefined;
  others: Set<Item> | undefined;
}

/** An item may be under several words; each word holds it at most once. */
export class SetTrie<Item extends object | string> {
  readonly #root = emptyNode<Item>();

  add(word: Word, item: Item): void {
    let node = this.#root;
    for (const letter of word) {
      node.children ??= new Map();
      let child = node.children.get(letter);
      if (child === undefined) {
        child = emptyNode();
        node.children.set(letter, child);
      }
      node = child;
    }
    if (node.item === undefined) node.item = item;
    else if (node.item !== item) (node.others ??= new Set()).add(item);
  }

  /** Removes an item that was added under `word`, and the nodes that are no longer needed. */
  delete(word: Word, item: Item): void {
    const path = [this.#root];
    for (const letter of word) {
      const child = path.at(-1)!.children?.get(letter);
      assert(child !== undefined, "deleted a word that is not in the trie");
      path.push(child);
    }
    const last = path.at(-1)!;
    removeItem(last, item);
    for (let depth = word.length; depth > 0 && isEmpty(path[depth]!); depth--) {
      const parent = path[depth - 1]!;
      parent.children!.delete(word[depth - 1]!);
      if (parent.children!.size === 0) parent.children = undefined;
    }
  }

  /**
   * Calls `visit` for each item under each word that is a subset of `word`, until it returns false. The recursion is as
   * deep as the longest stored word at most. Costs at most one look-up per stored node and letter of `word`.
   */
  visitSubsets(word: Word, visit: (item: Item) => boolean): void {
    visitSubsetsFrom(this.#root, word, 0, visit);
  }
}

/** False = `visit` has ended it. */
function visitSubsetsFrom<Item>(node: Node<Item>, word: Word, from: number, visit: (item: Item) => boolean): boolean {
  if (node.item !== undefined && !visit(node.item)) return false;
  if (node.others !== undefined) for (const item of node.others) if (!visit(item)) return false;
  if (node.children === undefined) return true;
  for (let index = from; index < word.length; index++) {
    const child = node.children.get(word[index]!);
    if (child !== undefined && !visitSubsetsFrom(child, word, index + 1, visit)) return false;
  }
  return true;
}

function emptyNode<Item>(): Node<Item> {
  return { children: undefined, item: undefined, others: undefined };
}

function isEmpty<Item>(node: Node<Item>): boolean {
  return node.children === undefined && node.item === undefined;
}

/** A node with others has an item too. */
function removeItem<Item>(node: Node<Item>, item: Item): void {
  if (node.item !== item) {
    assert(node.others?.delete(item) === true, "deleted an item that is not in the trie");
  } else {
    const [next] = node.others ?? [];
    node.item = next;
    if (next !== undefined) node.others!.delete(next);
  }
  if (node.others?.size === 0) node.others = undefined;
}
