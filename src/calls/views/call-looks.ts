import type { Config } from '../../platform/config/config.js';
import type { Principal } from '../../identity/access/principal.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { CallMark, CallQueries } from '../call-queries.js';
import { findCall } from '../placing/call-status.js';
import { callView } from './call-views.js';
import type { ReadCall } from './calls.js';
import type { CallLook } from './watch-progress.js';

export type SharedLook = CallLook & { isErased: boolean };

/** Watchers of a call within this time share one read. */
const FRESH_MS = 400;
/** Read an unchanged call again after this, because carrier events and the like do not change its mark. */
const READ_EVERY_MS = 3_000;
/** The same after the call's end, when webhook attempts follow. */
const READ_ENDED_EVERY_MS = 1_000;

interface Read {
  mark: CallMark;
  at: number;
  look: SharedLook;
}

interface Entry {
  at: number;
  read: Promise<Read>;
  isDone: boolean;
}

/** Reads calls for their watchers, one read per call at a time. Until the call changes, it reads only the mark. */
export function createCallLooks(deps: { config: Config; queries: CallQueries; readCall: ReadCall }) {
  const { config, queries, readCall } = deps;
  const entries = new Map<string, Entry>();

  async function read(principal: Principal, callId: string, before: Read | undefined): Promise<Read> {
    const mark = await queries.mark({ callId, accountId: principal.account._id, mode: principal.mode });
    if (mark !== null && before !== undefined && isSame(mark, before.mark)) {
      const everyMs = before.look.isFinal ? READ_ENDED_EVERY_MS : READ_EVERY_MS;
      if (Date.now() - before.at < everyMs) return before;
    }
    const at = Date.now();
    const call = await findCall(queries, principal, callId);
    const view = JSON.stringify(callView(await readCall(call), config.publicBaseUrl));
    const look = { view, isFinal: isFinalStatus(call.status), isErased: Boolean(call.erasedAt) };
    return { mark: { sequence: call.sequence, updatedAt: call.updatedAt }, at, look };
  }

  /** Drops the cached views of calls that have not been read for a while. */
  function forgetOld(): void {
    const oldest = Date.now() - READ_EVERY_MS;
    for (const [key, { at, isDone }] of entries) if (isDone && at < oldest) entries.delete(key);
  }

  return {
    /** @throws ServiceError CALL_NOT_FOUND */
    async look(principal: Principal, callId: string): Promise<SharedLook> {
      const key = `${principal.account._id} ${principal.mode} ${callId}`;
      const known = entries.get(key);
      if (known !== undefined && (!known.isDone || Date.now() - known.at < FRESH_MS)) return (await known.read).look;
      forgetOld();
      const before = await known?.read.catch(() => undefined);
      // Another watcher may have started a read meanwhile.
      const latest = entries.get(key);
      if (latest !== undefined && latest !== known) return (await latest.read).look;
      const entry: Entry = { at: Date.now(), isDone: false, read: read(principal, callId, before) };
      entries.set(key, entry);
      try {
        return (await entry.read).look;
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

function isSame(a: CallMark, b: CallMark): boolean {
  return a.sequence === b.sequence && a.updatedAt.getTime() === b.updatedAt.getTime();
}
