import { isDeepStrictEqual } from 'node:util';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import { isFreezing, type FindingDocument, type FindingFacts, type FindingKind } from './model.js';

/** A mismatch as it was just seen. */
export interface Finding {
  kind: FindingKind;
  ledgerAccountId: string;
  callId?: string;
  expected: FindingFacts;
  actual: FindingFacts;
}

export type Findings = ReturnType<typeof createFindings>;

/** The book of mismatches: each is written once and found again, never removed. */
export function createFindings(database: CallsDatabase) {
  const findings = database.reconciliationFindings;
  const find = (id: string) => findings.findById(id).lean<FindingDocument>().exec();

  return {
    find,

    /**
     * Writes a mismatch down, or finds it again. One that an operator has resolved stays so while it is off by the same;
     * off by something else, it is open again.
     * @returns whether it is `new` (or opened again), `open` since before, or `resolved`
     */
    async record(finding: Finding, now = new Date()): Promise<'new' | 'open' | 'resolved'> {
      const id = findingId(finding);
      const { expected, actual } = finding;
      const known = await find(id);
      if (!known) {
        try {
          await findings.create({ _id: id, ...finding, firstSeenAt: now, lastSeenAt: now });
          return 'new';
        } catch (error) {
          if (isDuplicateKey(error)) return 'open';
          throw error;
        }
      }
      const same = isDeepStrictEqual(differenceOf(known), differenceOf(finding));
      if (known.resolvedAt && same) {
        await findings.updateOne({ _id: id }, { $set: { lastSeenAt: now } });
        return 'resolved';
      }
      await findings.updateOne(
        { _id: id },
        {
          $set: { expected, actual, lastSeenAt: now },
          ...(known.resolvedAt ? { $unset: { resolvedAt: '', resolvedBy: '', reason: '' } } : {}),
        },
      );
      return known.resolvedAt ? 'new' : 'open';
    },

    /** Closes a finding with a reason. @returns false when it is unknown or closed already */
    async resolve(p: { id: string; by: string; reason: string }): Promise<boolean> {
      const { matchedCount } = await findings.updateOne(
        { _id: p.id, resolvedAt: null },
        { $set: { resolvedAt: new Date(), resolvedBy: p.by, reason: p.reason } },
      );
      return matchedCount === 1;
    },

    /** Findings, oldest first: the open ones, or all. */
    list(options: { all?: boolean; ledgerAccountId?: string } = {}): Promise<FindingDocument[]> {
      const { all = false, ledgerAccountId } = options;
      return findings
        .find({ ...(all ? {} : { resolvedAt: null }), ...(ledgerAccountId === undefined ? {} : { ledgerAccountId }) })
        .sort({ firstSeenAt: 1, _id: 1 })
        .lean<FindingDocument[]>()
        .exec();
    },

    /** Whether anything open keeps an account frozen. */
    async areFreezing(ledgerAccountId: string): Promise<boolean> {
      return (await this.list({ ledgerAccountId })).some(({ kind }) => isFreezing(kind));
    },
  };
}

export function findingId({ kind, callId, ledgerAccountId }: Pick<Finding, 'kind' | 'callId' | 'ledgerAccountId'>) {
  return `${kind}:${callId ?? ledgerAccountId}`;
}

/** By how much the two sides differ: a busy account's amounts move all the time, what is wrong with them does not. */
function differenceOf({ expected, actual }: Pick<Finding, 'expected' | 'actual'>): FindingFacts {
  const difference: FindingFacts = {};
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [wanted, seen] = [expected[name] ?? null, actual[name] ?? null];
    if (typeof wanted === 'number' && typeof seen === 'number') difference[name] = seen - wanted;
    else if (wanted !== seen) difference[name] = `${String(wanted)} / ${String(seen)}`;
  }
  return difference;
}
