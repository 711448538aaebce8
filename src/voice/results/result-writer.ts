import { setTimeout as sleep } from 'node:timers/promises';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { createCheckpointSchedule } from './checkpoint-schedule.js';
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
export type WriteOutcome = 'stored' | 'taken' | 'given_up';

export interface ResultWriter {
  /** Resolves to whether this stream owns the call; false if another one owns it or retries time out. Never rejects. */
  readonly claimed: Promise<boolean>;
  /** Whether another stream owns the call. */
  isSuperseded(): boolean;
  /** Schedules a checkpoint within two seconds, or at once. `read` is called when the checkpoint is written. */
  checkpoint(read: () => ConversationProgress, when?: 'soon' | 'at once'): void;
  /** Writes the last checkpoint of a lost stream; resolves when it is stored or given up. Never rejects. */
  suspend(read: () => ConversationProgress): Promise<WriteOutcome>;
  /** Writes the final result; resolves when it is stored or given up. Never rejects. */
  finish(read: () => ConversationEnding): Promise<WriteOutcome>;
}

interface ResultWriterDeps {
  results: ConversationResults;
  beginning: ConversationBeginning;
  logger: Logger;
  /** Called when this stream owns the row; `earlier` is what previous streams stored in it. */
  onClaimed: (earlier: ConversationResultDocument | null) => void;
  /** Called when another stream owns the call. Then nothing more is written, and this stream must end. */
  onSuperseded: () => void;
  /** Set only by tests, to give up sooner. */
  giveUpAfterMs?: number;
}

/** Writes a conversation's result in the background: first its beginning, then checkpoints, then its end. */
export function createResultWriter(deps: ResultWriterDeps): ResultWriter {
  const { results, beginning, logger } = deps;
  const { callId, resumptions = 0 } = beginning;
  let begun = false;
  let superseded = false;
  let progress: (() => ConversationProgress) | undefined;
  let ending: (() => ConversationEnding) | undefined;
  let giveUpAt = Infinity;
  let busy = false;
  let known: StoredLists | undefined;
  const schedule = createCheckpointSchedule(() => void wake());
  let writing: Promise<void> = Promise.resolve();
  let settleClaim: (isOurs: boolean) => void = () => undefined;
  const claimed = new Promise<boolean>((resolve) => (settleClaim = resolve));

  /** The next write, if any. The final one replaces all others, except the one that takes over another stream's row. */
  function nextWrite(): (() => Promise<void>) | undefined {
    const last = ending;
    if (!begun && (last === undefined || resumptions > 0)) return writeBeginning;
    if (last !== undefined) return () => writeEnding(last);
    const latest = progress;
    return latest && schedule.isDue() ? () => writeProgress(latest) : undefined;
  }

  async function writeBeginning(): Promise<void> {
    const claim = await results.begin(beginning);
    if (!claim.claimed) return yieldToOtherStream();
    begun = true;
    known = claim.earlier ?? { turns: [] };
    settleClaim(true);
    deps.onClaimed(claim.earlier);
  }

  async function writeProgress(latest: () => ConversationProgress): Promise<void> {
    const written = latest();
    if (!(await schedule.run(() => results.checkpoint(beginning, written, known)))) return yieldToOtherStream();
    known = written;
    if (progress === latest) progress = undefined;
  }

  async function writeEnding(last: () => ConversationEnding): Promise<void> {
    const written = last();
    try {
      if (!(await results.finish(written, known))) return yieldToOtherStream();
    } catch (error) {
      // The upsert found a row that another stream owns.
      if (!isDuplicateKey(error)) throw error;
      return yieldToOtherStream();
    }
    known = written;
    if (ending === last) ending = undefined;
    progress = undefined;
    begun = true;
    settleClaim(true);
  }

  function yieldToOtherStream(): void {
    superseded = true;
    schedule.stop();
    settleClaim(false);
    deps.onSuperseded();
  }

  async function writeAll(): Promise<void> {
    let pauseMs = 100;
    busy = true;
    for (let write = nextWrite(); write !== undefined && !superseded; write = nextWrite()) {
      try {
        await write();
        pauseMs = 100;
      } catch (error) {
        if (performance.now() > giveUpAt) {
          settleClaim(false);
          logger.error({ callId, err: error }, 'session result not stored');
          break;
        }
        await sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
    busy = false;
    if (progress !== undefined && !superseded && performance.now() < giveUpAt) schedule.wait();
  }

  function wake(): Promise<void> {
    if (!busy) writing = writeAll();
    return writing;
  }

  /** Writes until `isWaiting` is false, another stream owns the call, or retries time out. */
  async function settled(isWaiting: () => boolean): Promise<WriteOutcome> {
    giveUpAt = performance.now() + (deps.giveUpAfterMs ?? GIVE_UP_AFTER_MS);
    while (isWaiting() && !superseded && performance.now() < giveUpAt) await wake();
    if (superseded) return 'taken';
    return isWaiting() ? 'given_up' : 'stored';
  }

  void wake();
  return {
    claimed,
    isSuperseded: () => superseded,
    checkpoint(read, when = 'soon') {
      // Store a new function each time, so that a checkpoint requested during a write is recognized as newer.
      progress = () => read();
      if (when === 'at once') schedule.requestNow();
      void wake();
    },
    suspend(read) {
      progress = () => read();
      schedule.requestNow();
      return settled(() => progress !== undefined);
    },
    finish(read) {
      ending = read;
      return settled(() => ending !== undefined);
    },
  };
}
