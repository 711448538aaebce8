import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { Principal } from '../../identity/access/principal.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import { serviceUnavailable } from '../../platform/http/deadline.js';
import type { CallVersion, CallQueries } from '../call-queries.js';
import type { LiveWords } from '../../voice/live-words/live-words.js';
import { callView } from './call-views.js';
import { READ_WAIT_MS, type CallReading } from './call-reading.js';
import { createLiveConversations, UNKNOWN_CONVERSATION, type LiveConversation } from './live-conversations.js';
import type { CallSnapshot } from './watch-progress.js';

export type SharedCallSnapshot = CallSnapshot & { isErased: boolean; isTalking: boolean };

/** A read is shared by all watchers that need the call within this time. */
const SHARED_MS = 400;
/** Reads an unchanged call again after this time, because carrier events and the like do not change its version. */
const READ_EVERY_MS = 3_000;
/** Reads an ended call again after this time, to show new webhook attempts. */
const READ_ENDED_EVERY_MS = 1_000;

interface Read {
  version: CallVersion;
  /** Hash of the records besides the call. */
  further: string;
  at: number;
  live: LiveConversation;
  snapshot: SharedCallSnapshot;
}

interface Entry {
  at: number;
  read: Promise<Read>;
  isDone: boolean;
}

/**
 * Reads calls for all their watchers, one read per call at a time. While a call is unchanged, reads only its version.
 */
export function createSharedCallReads(deps: {
  config: Config;
  queries: CallQueries;
  reading: CallReading;
  liveWords: LiveWords;
  waitTimeoutMs?: number;
}) {
  const { config, queries, reading, waitTimeoutMs = READ_WAIT_MS } = deps;
  const conversations = createLiveConversations(deps);
  const entries = new Map<string, Entry>();

  async function read(principal: Principal, callId: string, before: Read | undefined): Promise<Read> {
    const version = await queries.readVersion({ callId, accountId: principal.account._id, mode: principal.mode });
    const at = Date.now();
    if (version !== null && before !== undefined && isSame(version, before.version)) {
      const everyMs = before.snapshot.isFinal ? READ_ENDED_EVERY_MS : READ_EVERY_MS;
      if (at - before.at < everyMs) return withLatest(callId, before);
      // An ended call, whose transcription may be long, is read again only if another record has changed.
      const isUnchanged =
        before.snapshot.isFinal && hashOf(await reading.readFurther(principal, callId)) === before.further;
      if (isUnchanged) return { ...before, at };
    }
    const createSignal = () => AbortSignal.timeout(waitTimeoutMs);
    const stored = await reading.read(principal, callId, createSignal);
    const changed = await reading.convert(stored, createSignal, (records) => {
      const { status, erasedAt, sequence, updatedAt } = records.call;
      const view = JSON.stringify(callView(records, config.publicBaseUrl));
      const snapshot = {
        view,
        isFinal: isFinalStatus(status),
        isErased: Boolean(erasedAt),
        isTalking: status === 'IN_PROGRESS',
      };
      return {
        version: { sequence, updatedAt },
        further: hashOf(stored.records),
        at,
        live: before?.live ?? UNKNOWN_CONVERSATION,
        snapshot,
      };
    });
    const isOver = changed.snapshot.isFinal && before !== undefined && !before.snapshot.isFinal;
    if (isOver) await conversations.end(callId);
    return withLatest(callId, changed);
  }

  /** Reads a call. A wait that is too long ends with 503, as for other requests. */
  async function readInTime(principal: Principal, callId: string, before: Read | undefined): Promise<Read> {
    try {
      return await read(principal, callId, before);
    } catch (error) {
      throw error instanceof DOMException && error.name === 'TimeoutError' ? serviceUnavailable() : error;
    }
  }

  async function withLatest(callId: string, read: Read): Promise<Read> {
    if (!read.snapshot.isTalking) return read;
    const live = await conversations.read(callId, read.live);
    const conversation = conversations.eventOf(live);
    return { ...read, live, snapshot: { ...read.snapshot, ...(conversation && { conversation }) } };
  }

  /** Drops the cached views of calls that have not been read for a while. */
  function dropOldEntries(): void {
    const oldest = Date.now() - READ_EVERY_MS;
    for (const [key, { at, isDone }] of entries) if (isDone && at < oldest) entries.delete(key);
  }

  return {
    /** @throws ServiceError CALL_NOT_FOUND; SERVICE_UNAVAILABLE if it waited for too long for reads of others */
    async read(principal: Principal, callId: string): Promise<SharedCallSnapshot> {
      const key = `${principal.account._id} ${principal.mode} ${callId}`;
      const known = entries.get(key);
      if (known !== undefined && (!known.isDone || Date.now() - known.at < SHARED_MS))
        return (await known.read).snapshot;
      dropOldEntries();
      const before = await known?.read.catch(() => undefined);
      // Another watcher may have started a read meanwhile.
      const latest = entries.get(key);
      if (latest !== undefined && latest !== known) return (await latest.read).snapshot;
      const entry: Entry = { at: Date.now(), isDone: false, read: readInTime(principal, callId, before) };
      entries.set(key, entry);
      try {
        return (await entry.read).snapshot;
      } catch (error) {
        if (entries.get(key) === entry) entries.delete(key);
        throw error;
      } finally {
        entry.isDone = true;
      }
    },

    /** Number of cached calls. */
    size: () => entries.size,
  };
}

function hashOf(records: object): string {
  return createHash('sha256').update(JSON.stringify(records)).digest('base64');
}

function isSame(a: CallVersion, b: CallVersion): boolean {
  return a.sequence === b.sequence && a.updatedAt.getTime() === b.updatedAt.getTime();
}
