import assert from "node:assert/strict";
import { test } from "node:test";
import { type Word } from "../../../src/label-index/alphabet.ts";
import { SetTrie } from "../../../src/label-index/set-trie.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

function subsets(trie: SetTrie<string>, word: Word): string[] {
  const found: string[] = [];
  trie.visitSubsets(word, (item) => found.push(item) > 0);
  return found.toSorted();
}

/** How many letters a query reads: for each node that has children, those that may come next. */
function lettersRead(trie: SetTrie<string>, word: Word): number {
  let count = 0;
  const counted = new Proxy(word, {
    get(letters, name) {
      if (typeof name === "string" && /^\d+$/.test(name)) count++;
      return Reflect.get(letters, name) as unknown;
    },
  });
  trie.visitSubsets(counted, () => true);
  return count;
}

test("a query finds the items of all stored subsets, the empty word included", () => {
  const trie = new SetTrie<string>();
  trie.add([], "empty");
  trie.add([1, 3], "1 3");
  trie.add([3], "3");
  trie.add([1, 2], "1 2");
  trie.add([1, 3, 5], "1 3 5");
  assert.deepEqual(subsets(trie, [1, 3, 4]), ["1 3", "3", "empty"]);
  assert.deepEqual(subsets(trie, []), ["empty"]);
});

test("a query ends when its visitor has seen enough, wherever in the trie that is", () => {
  const trie = new SetTrie<string>();
  for (const word of [[], [1], [1, 2], [2], [3]]) for (const item of ["a", "b"]) trie.add(word, item);
  for (let enough = 1; enough <= 10; enough++) {
    let seen = 0;
    trie.visitSubsets([1, 2, 3], () => ++seen < enough);
    assert.equal(seen, enough);
  }
});

test("several items under one word are kept apart", () => {
  const trie = new SetTrie<string>();
  trie.add([1], "a");
  trie.add([1], "b");
  trie.delete([1], "a");
  assert.deepEqual(subsets(trie, [1]), ["b"]);
});

test("deleting a word frees its nodes and keeps those that others need", () => {
  const trie = new SetTrie<string>();
  trie.add([1, 2], "short");
  trie.add([1, 2, 3, 4], "long");
  trie.add([1, 5], "branch");
  const all = [1, 2, 3, 4, 5];
  assert.equal(lettersRead(trie, all), 5 + 4 + 3 + 2);
  trie.delete([1, 2, 3, 4], "long");
  assert.equal(lettersRead(trie, all), 5 + 4);
  trie.delete([1, 2], "short");
  assert.deepEqual(subsets(trie, [1, 5]), ["branch"]);
  trie.delete([1, 5], "branch");
  assert.equal(lettersRead(trie, all), 0, "nothing is left below the root");
});

test("deleting a word keeps longer and shorter ones on its path", () => {
  const trie = new SetTrie<string>();
  trie.add([1, 2, 3], "long");
  trie.add([1], "short");
  trie.delete([1], "short");
  assert.deepEqual(subsets(trie, [1, 2, 3]), ["long"]);
});

test("deleting what was not added is a programmer error", () => {
  const trie = new SetTrie<string>();
  trie.add([1, 2], "a");
  assert.throws(() => trie.delete([1], "a"), /not in the trie/);
  assert.throws(() => trie.delete([3], "a"), /not in the trie/);
});

test("a set trie agrees with a plain list through 500 random histories, and ends empty", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const rng = createSeededRng(seed);
    const randomWord = (): Word => [0, 1, 2, 3, 4, 5].filter(() => rng.next() < 0.4);
    const trie = new SetTrie<string>();
    const list: { word: Word; item: string }[] = [];
    for (let step = 0; step < 30; step++) {
      if (rng.next() < 0.6 || list.length === 0) {
        const entry = { word: randomWord(), item: `${step}` };
        list.push(entry);
        trie.add(entry.word, entry.item);
      } else {
        const [entry] = list.splice(Math.floor(rng.next() * list.length), 1);
        trie.delete(entry!.word, entry!.item);
      }
      const query = randomWord();
      const expected = list.filter(({ word }) => word.every((letter) => query.includes(letter)));
      assert.deepEqual(subsets(trie, query), expected.map(({ item }) => item).toSorted(), `seed ${seed}`);
    }
    for (const { word, item } of list) trie.delete(word, item);
    assert.equal(lettersRead(trie, [0, 1, 2, 3, 4, 5]), 0, `seed ${seed}`);
  }
});
