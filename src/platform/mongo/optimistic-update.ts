import { setTimeout as sleep } from 'node:timers/promises';
import type { mongo } from 'mongoose';
import { report, type ContendedName } from '../telemetry/measurements.js';
import { isDuplicateKey } from './connection.js';

/** Returned by an attempt that conflicted with another writer. */
export const CONFLICT = Symbol('conflict');

const MAX_ATTEMPTS = 20;
const MAX_PAUSE_MS = 25;

/** Thrown when every attempt conflicted with another writer. Nothing was written, so trying again is safe. */
export class ContentionError extends Error {
  override readonly name = 'ContentionError';
}

/** Retry settings of an optimistic update. */
export interface Retries {
  /** Name of the updated data, for the metric and the error message. */
  name: ContendedName;
  maxAttempts?: number;
  /** Waits before the next attempt. The default is a random time, so that the same writers do not collide again. */
  pause?: (tries: number, tookMs: number) => Promise<void>;
}

/**
 * Repeats an attempt until it does not conflict with another writer.
 * @throws ContentionError after `mostTries` conflicts
 */
export async function retryOnConflict<T>(
  { name, maxAttempts: mostTries = MAX_ATTEMPTS, pause = randomPause }: Retries,
  tryOnce: () => Promise<T | typeof CONFLICT>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const beganAt = performance.now();
    const outcome = await tryOnce();
    const gaveUp = outcome === CONFLICT && tries === mostTries;
    if (tries > 1 && (gaveUp || outcome !== CONFLICT)) report('contention', { name, retries: tries - 1, gaveUp });
    if (outcome !== CONFLICT) return outcome;
    if (gaveUp) throw new ContentionError(`${name} update gave up after ${tries} conflicts`);
    await pause(tries, performance.now() - beganAt);
  }
}

/** Waits for a random time of up to 2, 4, 8 ... ms, at most 25 ms. */
export async function randomPause(tries: number): Promise<void> {
  await sleep(Math.random() * Math.min(2 ** tries, MAX_PAUSE_MS));
}

/** Loosely typed, because some field names are ids. */
type Change = { [operator in '$set' | '$unset' | '$inc' | '$push']?: object };

/** The decision about a document: no change; an update, which applies only if `when` still matches; or an insert. */
export type UpdateDecision<D, T> = { answer: T } & (
  | { update?: undefined; insert?: undefined }
  | { when?: mongo.Filter<mongo.Document>; update: Change; insert?: undefined }
  | { insert: D; update?: undefined }
);

export interface OptimisticOptions<D, T> extends Retries {
  /** Fields to read; all by default. */
  projection?: Readonly<Record<string, 0 | 1>>;
  /** Update to try before the document is read, which saves the read if there is no conflict. */
  blind?: UpdateDecision<D, T>;
}

/**
 * Reads one document, applies the decision of `decide` if the document still matches its `when` (compare-and-set), and
 * repeats both after a conflict. `when` must contain everything that the decision depends on.
 * @param decide receives null if the document does not exist
 * @returns `answer` of the decision that was applied
 * @throws ContentionError if every attempt conflicted
 */
export async function optimisticUpdate<D extends { _id: string }, T>(
  collection: Pick<mongo.Collection<D>, 'findOne' | 'updateOne' | 'insertOne'>,
  id: string,
  decide: (found: D | null) => UpdateDecision<D, T> | Promise<UpdateDecision<D, T>>,
  options: OptimisticOptions<D, T>,
): Promise<T> {
  const byId = { _id: id } as mongo.Filter<D>;
  let { blind } = options;

  async function isApplied(decision: UpdateDecision<D, T>): Promise<boolean> {
    if (decision.insert !== undefined) return isInserted(collection, decision.insert);
    if (decision.update === undefined) return true;
    const filter = { ...decision.when, ...byId } as mongo.Filter<D>;
    const { matchedCount } = await collection.updateOne(filter, decision.update as mongo.UpdateFilter<D>);
    return matchedCount === 1;
  }

  return retryOnConflict(options, async () => {
    const first = blind;
    blind = undefined;
    if (first !== undefined && (await isApplied(first))) return first.answer;
    const { projection } = options;
    const found = (await collection.findOne(byId, projection === undefined ? {} : { projection })) as D | null;
    const decision = await decide(found);
    return (await isApplied(decision)) ? decision.answer : CONFLICT;
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
