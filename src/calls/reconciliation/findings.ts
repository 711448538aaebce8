import { isDeepStrictEqual } from 'node:util';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { CallsDatabase } from '../database.js';
import { isFreezing, type FindingDocument, type FindingFacts, type FindingKind } from './model.js';

/** A mismatch between records, before it is stored. */
export interface Finding {
  kind: FindingKind;
  ledgerAccountId: string;
  callId?: string;
  expected: FindingFacts;
  actual: FindingFacts;
}

/** The names of facts about the spending of a day. */
const SPENDING = /^spentOn.{1,30}Micros$/;

export type Findings = ReturnType<typeof createFindings>;

/** Stores findings. Each mismatch has one row, which is updated when the mismatch is found again, and never deleted. */
export function createFindings(database: CallsDatabase) {
  const findings = database.reconciliationFindings;
  const find = (id: string) => findings.findById(id).lean<FindingDocument>().exec();

  return {
    find,

    /**
     * Records a mismatch. A resolved finding stays resolved while the difference between the expected and the actual
     * amounts is the same. With another difference, or the same one after it had ended, it reopens.
     * @returns `new` (also when reopened), `open` if it was already open, or `resolved`
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
      if (isResolved(known, finding)) {
        await findings.updateOne({ _id: id }, { $set: { lastSeenAt: now } });
        return 'resolved';
      }
      await findings.updateOne(
        { _id: id },
        {
          $set: { expected, actual, lastSeenAt: now },
          $unset: { endedAt: '', ...(known.resolvedAt ? { resolvedAt: '', resolvedBy: '', reason: '' } : {}) },
        },
      );
      return known.resolvedAt ? 'new' : 'open';
    },

    /** Notes that a mismatch is gone. Its finding stays as it is, but does not resolve another mismatch of the same amount. */
    async end(id: string): Promise<void> {
      await findings.updateOne({ _id: id, endedAt: null }, { $set: { endedAt: new Date() } });
    },

    /** Resolves a finding. @returns false if it is unknown or already resolved */
    async resolve(p: { id: string; by: string; reason: string }): Promise<boolean> {
      const { matchedCount } = await findings.updateOne(
        { _id: p.id, resolvedAt: null },
        { $set: { resolvedAt: new Date(), resolvedBy: p.by, reason: p.reason } },
      );
      return matchedCount === 1;
    },

    /** Lists the open findings, or with `all` every finding, oldest first. */
    list(options: { all?: boolean; ledgerAccountId?: string } = {}): Promise<FindingDocument[]> {
      const { all = false, ledgerAccountId } = options;
      return findings
        .find({ ...(all ? {} : { resolvedAt: null }), ...(ledgerAccountId === undefined ? {} : { ledgerAccountId }) })
        .sort({ firstSeenAt: 1, _id: 1 })
        .lean<FindingDocument[]>()
        .exec();
    },

    /** Whether an open finding keeps the account frozen. */
    async hasFreezing(ledgerAccountId: string): Promise<boolean> {
      return (await this.list({ ledgerAccountId })).some(({ kind }) => isFreezing(kind));
    },
  };
}

export function findingId({ kind, callId, ledgerAccountId }: Pick<Finding, 'kind' | 'callId' | 'ledgerAccountId'>) {
  return `${kind}:${callId ?? ledgerAccountId}`;
}

/**
 * Whether a stored finding resolves a mismatch: the operator has resolved the same difference, and it was there since. Only
 * what the difference made of the spending of a day ends with the day.
 */
export function isResolved(known: FindingDocument, found: Finding): boolean {
  if (known.resolvedAt === undefined || known.endedAt !== undefined) return false;
  const difference = differenceOf(found);
  const isLasting = ([name]: [string, unknown]) => name in difference || !SPENDING.test(name);
  return isDeepStrictEqual(Object.fromEntries(Object.entries(differenceOf(known)).filter(isLasting)), difference);
}

/**
 * Returns the difference between the expected and the actual amounts. In a busy account the amounts change all the
 * time, but the difference of one mismatch stays the same.
 */
function differenceOf({ expected, actual }: Pick<Finding, 'expected' | 'actual'>): FindingFacts {
  const difference: FindingFacts = {};
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [wanted, seen] = [expected[name] ?? null, actual[name] ?? null];
    if (typeof wanted === 'number' && typeof seen === 'number') difference[name] = seen - wanted;
    else if (wanted !== seen) difference[name] = `${String(wanted)} / ${String(seen)}`;
  }
  return difference;
}
