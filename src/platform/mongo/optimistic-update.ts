import { setTimeout as sleep } from 'node:timers/promises';
import type { mongo } from 'mongoose';
import { tellContention } from '../telemetry/contention.js';
import { isDuplicateKey } from './connection.js';

/** The outcome of a try that another writer overtook. */
export const OVERTAKEN = Symbol('overtaken');

const MOST_TRIES = 20;
const LONGEST_PAUSE_MS = 25;

/** Nothing was written: other writers overtook every try. Trying again is safe. */
export class ContentionError extends Error {
  override readonly name = 'ContentionError';
}

export interface Retries {
  /** What is written to, for the metric and the error. */
  name: string;
  mostTries?: number;
  /** Waits before the next try, for a random time so that writers do not meet again. */
  pause?: (tries: number, tookMs: number) => Promise<void>;
}

/**
 * Repeats a try until no other writer overtakes it.
 * @throws ContentionError when every try was overtaken
 */
export async function untilNotOvertaken<T>(
  { name, mostTries = MOST_TRIES, pause = randomPause }: Retries,
  tryOnce: () => Promise<T | typeof OVERTAKEN>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const beganAt = performance.now();
    const outcome = await tryOnce();
    const gaveUp = outcome === OVERTAKEN && tries === mostTries;
    if (tries > 1 && (gaveUp || outcome !== OVERTAKEN)) tellContention({ name, retries: tries - 1, gaveUp });
    if (outcome !== OVERTAKEN) return outcome;
    if (gaveUp) throw new ContentionError(`${name} found no quiet moment in ${tries} tries`);
    await pause(tries, performance.now() - beganAt);
  }
}

/** Up to 2, 4, 8 ... ms, at most 25. */
export async function randomPause(tries: number): Promise<void> {
  await sleep(Math.random() * Math.min(2 ** tries, LONGEST_PAUSE_MS));
}

/** Loosely typed, because the names of some fields are ids. */
type Change = { [operator in '$set' | '$unset' | '$inc' | '$push']?: object };

/** What becomes of a document: nothing, a change that is made only if `when` still holds, or its first form. */
export type UpdateDecision<D, T> = { answer: T } & (
  | { update?: undefined; insert?: undefined }
  | { when?: mongo.Filter<mongo.Document>; update: Change; insert?: undefined }
  | { insert: D; update?: undefined }
);

export interface OptimisticOptions<D, T> extends Retries {
  /** What is read of the document. */
  projection?: Readonly<Record<string, 0 | 1>>;
  /** A change that is tried before the document is read: one command where nobody is in the way. */
  blind?: UpdateDecision<D, T>;
}

/**
 * Changes one document as `decide` says of it, and decides anew when another writer came between reading and writing. A
 * decision's `when` must name all that it rests on.
 * @param decide null: there is no such document
 * @returns the answer of the decision that was carried out
 * @throws ContentionError when other writers won every try
 */
export async function optimisticUpdate<D extends { _id: string }, T>(
  collection: Pick<mongo.Collection<D>, 'findOne' | 'updateOne' | 'insertOne'>,
  id: string,
  decide: (found: D | null) => UpdateDecision<D, T> | Promise<UpdateDecision<D, T>>,
  options: OptimisticOptions<D, T>,
): Promise<T> {
  const byId = { _id: id } as mongo.Filter<D>;
  let { blind } = options;

  async function isCarriedOut(decision: UpdateDecision<D, T>): Promise<boolean> {
    if (decision.insert !== undefined) return isInserted(collection, decision.insert);
    if (decision.update === undefined) return true;
    const filter = { ...decision.when, ...byId } as mongo.Filter<D>;
    const { matchedCount } = await collection.updateOne(filter, decision.update as mongo.UpdateFilter<D>);
    return matchedCount === 1;
  }

  return untilNotOvertaken(options, async () => {
    const first = blind;
    blind = undefined;
    if (first !== undefined && (await isCarriedOut(first))) return first.answer;
    const { projection } = options;
    const found = (await collection.findOne(byId, projection === undefined ? {} : { projection })) as D | null;
    const decision = await decide(found);
    return (await isCarriedOut(decision)) ? decision.answer : OVERTAKEN;
  });
}

async function isInserted<D>(collection: Pick<mongo.Collection<D & mongo.Document>, 'insertOne'>, document: D) {
  try {
    await collection.insertOne(document as mongo.OptionalUnlessRequiredId<D & mongo.Document>);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
