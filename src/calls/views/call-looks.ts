import type { Config } from '../../platform/config/config.js';
import type { Principal } from '../../identity/access/principal.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { CallMark, CallQueries } from '../call-queries.js';
import { findCall } from '../placing/call-status.js';
import { callView } from './call-views.js';
import type { ReadCall } from './calls.js';
import type { CallLook } from './watch-progress.js';

export type SharedLook = CallLook & { isErased: boolean };

/** Watchers that ask within this time get the same look. */
const FRESH_MS = 400;
/** What changes without the call, such as the carrier's events, is read so often all the same. */
const READ_EVERY_MS = 3_000;
/** The webhook's attempts follow the end, while few watchers are left. */
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

/** Looks at calls for their watchers: one at a time for each call, which reads no more than a mark until the call has moved. */
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

  /** Forgets calls that nobody has looked at for a while. */
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
      // Another watcher may have begun meanwhile.
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

    /** Calls that are being watched. */
    size: () => entries.size,
  };
}

function isSame(a: CallMark, b: CallMark): boolean {
  return a.sequence === b.sequence && a.updatedAt.getTime() === b.updatedAt.getTime();
}
