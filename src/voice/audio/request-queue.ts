import type { Mode } from '../../kernel/ids.js';

/** The call, account and mode that a request to a shared thread belongs to. */
export interface RequestOwner {
  accountId: string;
  callId: string;
  mode: Mode;
}

/** Owner of requests that belong to no call. They are queued with those of live-mode calls. */
export const PROCESS_OWNER: RequestOwner = { accountId: '', callId: '', mode: 'live' };

type Calls<T> = Map<string, T[]>;
/** Accounts and their calls, both in the order in which they are served. */
type Accounts<T> = Map<string, Calls<T>>;

/**
 * A fair queue. Live-mode calls come before test-mode calls. Accounts are served in rotation, and so are the calls of
 * an account.
 */
export function createRequestQueue<T extends { owner: RequestOwner }>() {
  const modes: Record<Mode, Accounts<T>> = { live: new Map(), test: new Map() };
  let waiting = 0;

  function put({ accountId, callId, mode }: RequestOwner, calls: Calls<T>, items: T[]): void {
    if (items.length > 0) calls.set(callId, items);
    if (calls.size > 0) modes[mode].set(accountId, calls);
  }

  function takeFrom(mode: Mode, accountId: string, calls: Calls<T>): T | undefined {
    const [[callId, items] = ['', []]] = calls;
    const item = items.shift();
    // Move the account and the call to the back of the queue.
    modes[mode].delete(accountId);
    calls.delete(callId);
    put({ accountId, callId, mode }, calls, items);
    if (item !== undefined) waiting -= 1;
    return item;
  }

  function remove(item: T): boolean {
    const { accountId, callId, mode } = item.owner;
    const calls = modes[mode].get(accountId);
    const items = calls?.get(callId);
    const at = items?.indexOf(item) ?? -1;
    if (at < 0) return false;
    items?.splice(at, 1);
    if (items?.length === 0) calls?.delete(callId);
    if (calls?.size === 0) modes[mode].delete(accountId);
    waiting -= 1;
    return true;
  }

  return {
    size: () => waiting,

    add(item: T): void {
      const calls = modes[item.owner.mode].get(item.owner.accountId) ?? new Map<string, T[]>();
      const items = calls.get(item.owner.callId) ?? [];
      items.push(item);
      calls.set(item.owner.callId, items);
      modes[item.owner.mode].set(item.owner.accountId, calls);
      waiting += 1;
    },

    /** Removes and returns the next item to serve. */
    next(): T | undefined {
      for (const mode of ['live', 'test'] as const) {
        const [first] = modes[mode];
        if (first !== undefined) return takeFrom(mode, ...first);
      }
      return undefined;
    },

    remove,

    /**
     * Removes the newest item of the account with the most items. Takes it from test accounts first; accounts in live
     * mode lose an item only when no test account has one.
     */
    evictOne(): T | undefined {
      const accounts = modes.test.size > 0 ? modes.test : modes.live;
      const largestAccount = largest(accounts.values(), (calls) =>
        sum(Array.from(calls.values(), (items) => items.length)),
      );
      const item = largest(largestAccount?.values() ?? [], (items) => items.length)?.at(-1);
      if (item !== undefined) remove(item);
      return item;
    },
  };
}

function largest<T>(all: Iterable<T>, sizeOf: (one: T) => number): T | undefined {
  let found: T | undefined;
  let size = -1;
  for (const one of all) {
    const itemSize = sizeOf(one);
    if (itemSize >= size) [found, size] = [one, itemSize];
  }
  return found;
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
