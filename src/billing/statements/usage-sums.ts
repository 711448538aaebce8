import { isTemporaryAgent } from '../../kernel/ids.js';
import { TEMPORARY_AGENTS, UNKNOWN_AGENT, utcDay, type UsageGrouping, type UsageRow } from './statement.js';
import { billedSecondsOf } from '../ledger/rates.js';
import type { LedgerEntryDocument } from '../ledger/model.js';
import { changesOf } from './entries.js';

const BATCH = 500;

/** Looks up the agents of calls; implemented by the calls domain. */
export interface UsageAgents {
  /** Returns agent ids by call id. Unknown calls are missing from the map. */
  agentsOf(callIds: readonly string[]): Promise<Map<string, string | undefined>>;
  /** Returns names by agent id. Unknown agents are missing from the map. */
  namesOf(agentIds: readonly string[]): Promise<Map<string, string>>;
}

/** Sums up settlements and corrections by UTC day or by agent, with at most one batch of entries in memory. */
export function createUsageSums(agents: UsageAgents, groupBy: UsageGrouping) {
  const sums = new Map<string, UsageRow>();
  let batch: LedgerEntryDocument[] = [];

  function addTo(key: string, entry: LedgerEntryDocument): void {
    const row = sums.get(key) ?? { key, calls: 0, seconds: 0, costMicros: 0 };
    const { billedMicros } = changesOf(entry);
    if (entry.type === 'settlement' && billedMicros > 0) row.calls++;
    row.seconds += billedSecondsOf(entry);
    row.costMicros += billedMicros;
    sums.set(key, row);
  }

  async function addBatch(): Promise<void> {
    const callIds = new Set(batch.flatMap(({ callId }) => callId ?? []));
    const found = await agents.agentsOf([...callIds]);
    for (const entry of batch) addTo(groupOf(found.get(entry.callId ?? '')), entry);
    batch = [];
  }

  return {
    async add(entry: LedgerEntryDocument): Promise<void> {
      if (changesOf(entry).billedMicros === 0) return;
      if (groupBy === 'day') return addTo(utcDay(entry.at), entry);
      batch.push(entry);
      if (batch.length >= BATCH) await addBatch();
    },

    /** Returns days in chronological order, or agents by cost, highest first. */
    async rows(): Promise<UsageRow[]> {
      if (batch.length > 0) await addBatch();
      const rows = [...sums.values()];
      if (groupBy === 'day') return rows.toSorted((a, b) => compare(a.key, b.key));
      const named = await withNames(rows);
      return named.toSorted((a, b) => b.costMicros - a.costMicros || compare(a.key, b.key));
    },
  };

  async function withNames(rows: readonly UsageRow[]): Promise<UsageRow[]> {
    const names = await agents.namesOf(rows.map(({ key }) => key));
    return rows.map((row) => {
      const agentName = names.get(row.key);
      return agentName === undefined ? row : { ...row, agentName };
    });
  }
}

function groupOf(agentId: string | undefined): string {
  if (agentId === undefined) return UNKNOWN_AGENT;
  return isTemporaryAgent(agentId) ? TEMPORARY_AGENTS : agentId;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
