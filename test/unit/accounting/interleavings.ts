/** All orders in which several actors can take their steps, when each keeps the order of its own. */

/** Yields, for actors with so many steps each, every sequence of actor numbers. The yielded array is reused. */
export function* interleavings(lengths: readonly number[]): Generator<readonly number[]> {
  const left = [...lengths];
  const order: number[] = [];
  const size = lengths.reduce((sum, length) => sum + length, 0);

  function* extend(): Generator<readonly number[]> {
    if (order.length === size) {
      yield order;
      return;
    }
    for (const [actor, count] of left.entries()) {
      if (count === 0) continue;
      left[actor] = count - 1;
      order.push(actor);
      yield* extend();
      order.pop();
      left[actor] = count;
    }
  }
  yield* extend();
}
