import { setTimeout as sleep } from 'node:timers/promises';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { createCheckpointPace } from './checkpoint-pace.js';
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

interface KeeperDeps {
  results: ConversationResults;
  beginning: ConversationBeginning;
  logger: Logger;
  /** The row is ours, with what the streams before left in it. */
  onClaimed: (earlier: ConversationResultDocument | null) => void;
  /** Another stream has this call: nothing of ours is written and this one must end. */
  onTaken: () => void;
  /** Shorter is for tests. */
  giveUpAfterMs?: number;
}

/** Writes a conversation's result behind the audio, in order: the beginning, checkpoints, the end. */
export function keepResult(deps: KeeperDeps): ResultKeeper {
  const { results, beginning, logger } = deps;
  const { callId, resumptions = 0 } = beginning;
  let begun = false;
  let taken = false;
  let progress: (() => ConversationProgress) | undefined;
  let ending: (() => ConversationEnding) | undefined;
  let giveUpAt = Infinity;
  let busy = false;
  let known: StoredLists | undefined;
  const pace = createCheckpointPace(() => void wake());
  let writing: Promise<void> = Promise.resolve();
  let settleClaim: (isOurs: boolean) => void = () => undefined;
  const claimed = new Promise<boolean>((resolve) => (settleClaim = resolve));

  /** The next write, or nothing; the end makes earlier ones needless, but not the taking over of a row. */
  function nextWrite(): (() => Promise<void>) | undefined {
    const last = ending;
    if (!begun && (last === undefined || resumptions > 0)) return writeBeginning;
    if (last !== undefined) return () => writeEnding(last);
    const latest = progress;
    return latest && pace.isDue() ? () => writeProgress(latest) : undefined;
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
    if (!(await pace.keepTo(() => results.checkpoint(beginning, written, known)))) return lose();
    known = written;
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
    pace.stop();
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
    if (progress !== undefined && !taken && performance.now() < giveUpAt) pace.wait();
  }

  function wake(): Promise<void> {
    if (!busy) writing = writeAll();
    return writing;
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
      if (when === 'at once') pace.hurry();
      void wake();
    },
    suspend(read) {
      progress = () => read();
      pace.hurry();
      return settled(() => progress !== undefined);
    },
    finish(read) {
      ending = read;
      return settled(() => ending !== undefined);
    },
  };
}
