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

/** How long the final write is retried while the database is unavailable. */
const GIVE_UP_AFTER_MS = 300_000;
const LONGEST_PAUSE_MS = 2_000;

/** `taken`: another stream owns the call, and the write was not stored. */
export type Kept = 'stored' | 'taken' | 'given_up';

export interface ResultKeeper {
  /** Whether this stream owns the call; false once another stream owns it, or if retries time out. Never rejects. */
  readonly claimed: Promise<boolean>;
  /** Whether another stream owns the call. */
  isTaken(): boolean;
  /** Schedules a checkpoint within two seconds, or at once. `read` is called when it is written. */
  checkpoint(read: () => ConversationProgress, when?: 'soon' | 'at once'): void;
  /** Writes the last checkpoint of a lost stream; resolves when it is stored or given up. Never rejects. */
  suspend(read: () => ConversationProgress): Promise<Kept>;
  /** Writes the final result; resolves when it is stored or given up. Never rejects. */
  finish(read: () => ConversationEnding): Promise<Kept>;
}

interface KeeperDeps {
  results: ConversationResults;
  beginning: ConversationBeginning;
  logger: Logger;
  /** This stream owns the row now; `earlier` is what the previous streams stored in it. */
  onClaimed: (earlier: ConversationResultDocument | null) => void;
  /** Another stream owns this call: nothing more is written, and this stream must end. */
  onTaken: () => void;
  /** Set only by tests, to give up sooner. */
  giveUpAfterMs?: number;
}

/** Writes a conversation's result in the background, in order: the beginning, checkpoints, the end. */
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

  /** The next write, if any. The end makes earlier writes unnecessary, except taking over a row from another stream. */
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
      // The upsert found a row that another stream owns.
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

  /** Writes until `isWaiting` is false, another stream owns the call, or retries time out. */
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
      // A new function each time, so that a checkpoint during a write is recognized as newer.
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
