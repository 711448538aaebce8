import { setTimeout as sleep } from 'node:timers/promises';
import { isDuplicateKey } from '../store/database.js';
import type {
  ConversationBeginning,
  ConversationEnding,
  ConversationProgress,
  ConversationResults,
} from '../store/conversation-results.js';
import type { Logger } from '../telemetry/logger.js';

/** How long the final result is offered to a database that is away. */
const GIVE_UP_AFTER_MS = 300_000;
const LONGEST_PAUSE_MS = 2_000;

export interface ResultKeeper {
  /** What is known now; only the newest is written when several wait. */
  checkpoint(progress: ConversationProgress): void;
  /** Resolves when the whole result is stored, or was given up. Never rejects. */
  finish(ending: ConversationEnding): Promise<void>;
}

/**
 * Writes a conversation's result behind the audio, in order: the beginning, checkpoints, the end.
 * @param onTaken another stream has this call: nothing of ours is written and this one must end
 */
export function keepResult(deps: {
  results: ConversationResults;
  beginning: ConversationBeginning;
  logger: Logger;
  onTaken: () => void;
}): ResultKeeper {
  const { results, beginning, logger, onTaken } = deps;
  const { callId } = beginning;
  let begun = false;
  let taken = false;
  let progress: ConversationProgress | undefined;
  let ending: ConversationEnding | undefined;
  let giveUpAt = Infinity;
  let busy = false;
  let writing: Promise<void> = Promise.resolve();

  /** The next write, or nothing; the end makes all earlier ones needless. */
  function nextWrite(): (() => Promise<void>) | undefined {
    const last = ending;
    if (last !== undefined) return () => writeEnding(last);
    if (!begun) return writeBeginning;
    const latest = progress;
    return latest && (() => writeProgress(latest));
  }

  async function writeBeginning(): Promise<void> {
    if ((await results.begin(beginning)) === 'taken') lose();
    begun = true;
  }

  async function writeProgress(latest: ConversationProgress): Promise<void> {
    await results.checkpoint(beginning, latest);
    if (progress === latest) progress = undefined;
  }

  async function writeEnding(last: ConversationEnding): Promise<void> {
    try {
      await results.finish(last);
    } catch (error) {
      // The upsert found the call's row in another stream's hand.
      if (!isDuplicateKey(error)) throw error;
      lose();
    }
    ending = undefined;
    progress = undefined;
    begun = true;
  }

  function lose(): void {
    taken = true;
    onTaken();
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
    if (!busy) writing = writeAll();
    return writing;
  }

  void wake();
  return {
    checkpoint(latest) {
      progress = latest;
      void wake();
    },
    async finish(last) {
      ending = last;
      giveUpAt = performance.now() + GIVE_UP_AFTER_MS;
      while (ending !== undefined && !taken && performance.now() < giveUpAt) await wake();
    },
  };
}
