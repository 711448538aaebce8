import { setTimeout as sleep } from 'node:timers/promises';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type {
  ConversationBeginning,
  ConversationEnding,
  ConversationProgress,
  ConversationResults,
  StoredLists,
} from './conversation-results.js';
import type { ConversationResultDocument } from './model.js';
import type { Logger } from '../../platform/telemetry/logger.js';

/** How long the last word on a conversation is offered to a database that is away. */
const GIVE_UP_AFTER_MS = 300_000;
const LONGEST_PAUSE_MS = 2_000;
/** What a process that dies takes with it of a transcript. */
const CHECKPOINT_EVERY_MS = 2_000;

/** `taken`: another stream has the call, and nothing of ours was written. */
export type Kept = 'stored' | 'taken' | 'given_up';

export interface ResultKeeper {
  /** Whether the call is this stream's; false as soon as another has it, or nobody can tell in time. Never rejects. */
  readonly claimed: Promise<boolean>;
  /** Another stream has the call. */
  isTaken(): boolean;
  /** There is news. What is to be written is asked for when its turn has come: every few seconds, or at once. */
  checkpoint(read: () => ConversationProgress, when?: 'soon' | 'at once'): void;
  /** Writes the last checkpoint of a stream that was lost; resolves when it is stored, or was given up. Never rejects. */
  suspend(read: () => ConversationProgress): Promise<Kept>;
  /** Resolves when the whole result is stored, or was given up. Never rejects. */
  finish(read: () => ConversationEnding): Promise<Kept>;
}

/**
 * Writes a conversation's result behind the audio, in order: the beginning, checkpoints, the end.
 * @param deps.onClaimed the row is ours, with what the streams before left in it
 * @param deps.onTaken another stream has this call: nothing of ours is written and this one must end
 */
export function keepResult(deps: {
  results: ConversationResults;
  beginning: ConversationBeginning;
  logger: Logger;
  onClaimed: (earlier: ConversationResultDocument | null) => void;
  onTaken: () => void;
  /** Shorter is for tests. */
  giveUpAfterMs?: number;
}): ResultKeeper {
  const { results, beginning, logger } = deps;
  const { callId, resumptions = 0 } = beginning;
  let begun = false;
  let taken = false;
  let progress: (() => ConversationProgress) | undefined;
  let ending: (() => ConversationEnding) | undefined;
  let giveUpAt = Infinity;
  let busy = false;
  let known: StoredLists | undefined;
  /** The news does not wait for `nextCheckpointAt`, which is of `performance.now()`. */
  let urgent = false;
  let nextCheckpointAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let settleClaim: (isOurs: boolean) => void = () => undefined;
  const claimed = new Promise<boolean>((resolve) => (settleClaim = resolve));

  /** The next write, or nothing; the end makes earlier ones needless, but not the taking over of a row. */
  function nextWrite(): (() => Promise<void>) | undefined {
    const last = ending;
    if (!begun && (last === undefined || resumptions > 0)) return writeBeginning;
    if (last !== undefined) return () => writeEnding(last);
    const latest = progress;
    return latest && (urgent || performance.now() >= nextCheckpointAt) ? () => writeProgress(latest) : undefined;
  }

  async function writeBeginning(): Promise<void> {
    const claim = await results.begin(beginning);
    if (!claim.claimed) return lose();
    begun = true;
    known = claim.earlier ?? { turns: [] };
    settleClaim(true);
    deps.onClaimed(claim.earlier);
  }

  async function writeProgress(latest: () => ConversationProgress): Promise<void> {
    const written = latest();
    const wasUrgent = urgent;
    urgent = false;
    const isOurs = await results.checkpoint(beginning, written, known).catch((error: unknown) => {
      urgent ||= wasUrgent;
      throw error;
    });
    if (!isOurs) return lose();
    known = written;
    nextCheckpointAt = performance.now() + CHECKPOINT_EVERY_MS;
    if (progress === latest) progress = undefined;
  }

  async function writeEnding(last: () => ConversationEnding): Promise<void> {
    const written = last();
    try {
      if (!(await results.finish(written, known))) return lose();
    } catch (error) {
      // The upsert found the call's row in another stream's hand.
      if (!isDuplicateKey(error)) throw error;
      return lose();
    }
    known = written;
    if (ending === last) ending = undefined;
    progress = undefined;
    begun = true;
    settleClaim(true);
  }

  function lose(): void {
    taken = true;
    clearTimeout(timer);
    settleClaim(false);
    deps.onTaken();
  }

  async function writeAll(): Promise<void> {
    let pauseMs = 100;
    busy = true;
    for (let write = nextWrite(); write !== undefined && !taken; write = nextWrite()) {
      try {
        await write();
        pauseMs = 100;
      } catch (error) {
        if (performance.now() > giveUpAt) {
          settleClaim(false);
          logger.error({ callId, err: error }, 'the result of a conversation could not be stored');
          break;
        }
        await sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
    busy = false;
  }

  function wake(): Promise<void> {
    if (!busy) writing = writeAll().then(wakeForCheckpoint);
    return writing;
  }

  function wakeForCheckpoint(): void {
    clearTimeout(timer);
    if (progress === undefined || taken || performance.now() > giveUpAt) return;
    timer = setTimeout(() => void wake(), Math.max(1, nextCheckpointAt - performance.now())).unref();
  }

  /** Writes until nothing of this waits any more. */
  async function settled(isWaiting: () => boolean): Promise<Kept> {
    giveUpAt = performance.now() + (deps.giveUpAfterMs ?? GIVE_UP_AFTER_MS);
    while (isWaiting() && !taken && performance.now() < giveUpAt) await wake();
    if (taken) return 'taken';
    return isWaiting() ? 'given_up' : 'stored';
  }

  void wake();
  return {
    claimed,
    isTaken: () => taken,
    checkpoint(read, when = 'soon') {
      // Another function each time, so that what comes during a write is seen to be newer.
      progress = () => read();
      urgent ||= when === 'at once';
      void wake();
    },
    suspend(read) {
      progress = () => read();
      urgent = true;
      return settled(() => progress !== undefined);
    },
    finish(read) {
      ending = read;
      return settled(() => ending !== undefined);
    },
  };
}
