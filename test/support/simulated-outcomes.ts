import type { Decide } from './simulated-disk-nodes.js';

/**
 * Walks through what a series of decisions can come to: all of it where there are at most `limit`
 * outcomes, else that many seeded samples. Replayable: same limit, same seed, same outcomes.
 *
 * @param visit makes its choices by calling `decide`; the number of choices may depend on earlier
 * ones
 * @returns the number of outcomes that were visited
 */
export async function visitOutcomes(
  limit: number,
  seed: number,
  visit: (decide: Decide) => void | Promise<void>,
): Promise<number> {
  let visited = 0;
  let script: number[] | undefined = [];
  while (script !== undefined && visited < limit) {
    const choices: Choices = new Choices(script);
    await visit(choices.decide);
    script = choices.next();
    visited += 1;
  }
  if (script === undefined) return visited;
  const random = randomFrom(seed);
  for (let sample = 0; sample < limit; sample += 1) {
    await visit((options) => Math.floor(random() * options));
    visited += 1;
  }
  return visited;
}

/** One path through the tree of decisions: follows the script, then takes the first of each. */
class Choices {
  readonly #taken: number[];
  readonly #options: number[] = [];

  constructor(script: readonly number[]) {
    this.#taken = [...script];
  }

  readonly decide: Decide = (options) => {
    const depth = this.#options.length;
    this.#options.push(options);
    if (depth === this.#taken.length) this.#taken.push(0);
    return this.#taken[depth] ?? 0;
  };

  /** The script of the next path; undefined when this was the last one. */
  next(): number[] | undefined {
    for (let depth = this.#taken.length - 1; depth >= 0; depth -= 1) {
      const choice = (this.#taken[depth] ?? 0) + 1;
      if (choice < (this.#options[depth] ?? 0)) return [...this.#taken.slice(0, depth), choice];
    }
    return undefined;
  }
}

/** Uniform in [0, 1), the same series for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
