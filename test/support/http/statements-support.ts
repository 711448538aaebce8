import { ledgerAccountId, type Mode } from '../../../src/kernel/ids.js';
import { createLedger } from '../../../src/billing/ledger/ledger.js';
import { newCallId } from '../store/test-database.js';
import type { ServiceResponse, Customer, Service } from './harness.js';

export interface Entry {
  id: string;
  type: string;
  at: string;
  call_id?: string;
  payment_id?: string;
  window?: number;
  billed_seconds?: number;
  available_micros: number;
  held_micros: number;
  credited_micros: number;
  billed_micros: number;
}
export interface Page {
  data: Entry[];
  has_more: boolean;
  next_cursor?: string;
}
export interface Usage {
  data: { day?: string; agent_id?: string; agent_name?: string; calls: number; seconds: number; cost_micros: number }[];
  total: { calls: number; seconds: number; cost: number; cost_micros: number };
}

export const idOf = (customer: Customer, mode: Mode = 'live') => ledgerAccountId(customer.account._id, mode);

export function pageOf({ status, json }: ServiceResponse): Page {
  expect(status).toBe(200);
  return json as unknown as Page;
}

export function usageOf({ status, json }: ServiceResponse): Usage {
  expect(status).toBe(200);
  return json as unknown as Usage;
}

const AMOUNTS = ['available_micros', 'held_micros', 'credited_micros', 'billed_micros'] as const;
export function sumOf(entries: readonly Entry[]): Record<string, number> {
  return Object.fromEntries(AMOUNTS.map((name) => [name, entries.reduce((sum, entry) => sum + entry[name], 0)]));
}

/** Functions that bill calls in the service's ledger and read its statements. */
export function statementsOf(service: Service) {
  const ledger = createLedger(service.database);
  const get = (path: string, key: string, headers: Record<string, string> = {}) =>
    service.request(path, { key, headers });

  return {
    ledger,
    get,

    /** Bills a call in the ledger. The call has one hold window. @returns the call's id */
    async billCall(customer: Customer, seconds: number, mode: Mode = 'live', microsPerSecond = 2_500): Promise<string> {
      const [id, callId] = [idOf(customer, mode), newCallId()];
      await ledger.hold({ ledgerAccountId: id, callId, window: 0, maxDurationSeconds: 60, microsPerSecond });
      await ledger.settle({ ledgerAccountId: id, callId, billedSeconds: seconds });
      return callId;
    },

    /** Stores a minimal read model of the call, which names the call's agent. */
    async nameAgent(customer: Customer, callId: string, agentId: string): Promise<void> {
      const { _id: accountId } = customer.account;
      const call = { _id: callId as never, accountId, mode: 'live', agentId, createdAt: new Date() };
      await service.database.calls.collection.insertOne(call);
    },

    /** Reads all entries of the statement, page by page. */
    async readAll(key: string, query = '', limit = 100): Promise<Entry[]> {
      const entries: Entry[] = [];
      for (let cursor = ''; ;) {
        const page = pageOf(await get(`/ledger?limit=${limit}${query}${cursor}`, key));
        entries.push(...page.data);
        expect(page.has_more).toBe(page.next_cursor !== undefined);
        if (page.next_cursor === undefined) return entries;
        expect(page.data).toHaveLength(limit);
        cursor = `&cursor=${page.next_cursor}`;
      }
    },
  };
}
