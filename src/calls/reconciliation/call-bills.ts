import { isFinalStatus } from '../../kernel/call-state.js';
import { priceOfSeconds, rateOf, secondsCovered, type Micros } from '../../kernel/money.js';
import type { CallsDatabase } from '../database.js';
import type { Finding } from './findings.js';
import { holdKey, settlementKey } from '../../billing/ledger/keys.js';
import { billedSecondsOf } from '../../billing/ledger/rates.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { LedgerEntryDocument } from '../../billing/ledger/model.js';
import type { FindingFacts, FindingKind } from './model.js';

/** The stored records about a call's money. */
export interface CallBill {
  callId: string;
  ledgerAccountId: string;
  /** The read model; null if there is none, or only a tombstone. */
  call: Pick<CallDocument, 'status' | 'durationSeconds' | 'costMicros' | 'sequence'> | null;
  settlement: LedgerEntryDocument | null;
  /** The price fixed when the call was requested; undefined if the request is missing. */
  microsPerSecond: Micros | undefined;
  /** Sum of the money held for the call; undefined if the ledger entry of one of its holds is missing. */
  heldMicros: Micros | undefined;
}

/** Maximum number of a call's hold windows that one query reads. Few calls have more. */
const WINDOWS_AT_ONCE = 5;

/** Reads the records of these calls. Operations that no sweep has moved to ledger entries yet are missing. */
export async function readBills(
  database: CallsDatabase,
  calls: readonly { callId: string; ledgerAccountId: string }[],
): Promise<CallBill[]> {
  const ids = calls.map(({ callId }) => callId);
  const [documents, requests, entries] = await Promise.all([
    database.calls
      .find(
        { _id: { $in: ids } },
        { accountId: 1, owner: 1, status: 1, durationSeconds: 1, costMicros: 1, sequence: 1 },
      )
      .lean<CallDocument[]>()
      .exec(),
    database.callRequests
      .find({ _id: { $in: ids } }, { microsPerSecond: 1 })
      .lean<Pick<CallRequestDocument, '_id' | 'microsPerSecond'>[]>()
      .exec(),
    readEntries(
      database,
      ids.flatMap((id) => [settlementKey(id), ...windowKeys(id, 0)]),
    ),
  ]);
  const documentOf = new Map(documents.map((document) => [document._id, document]));
  const rates = new Map(requests.map((request) => [request._id, rateOf(request)]));
  return Promise.all(
    calls.map(async ({ callId, ledgerAccountId }) => {
      const document = documentOf.get(callId);
      return {
        callId,
        ledgerAccountId,
        // The tombstone of a call that was given up has no owner and does not count as a read model. That of a call past
        // its retention does.
        call: document !== undefined && (document.accountId ?? document.owner) !== undefined ? document : null,
        settlement: entries.get(settlementKey(callId)) ?? null,
        microsPerSecond: rates.get(callId),
        heldMicros: await sumHolds(database, callId, entries),
      };
    }),
  );
}

/** Whether the bill may still change: the call is not settled, or its status is not final. */
export function isUnfinished({ call, settlement }: CallBill): boolean {
  return settlement === null || (call !== null && !isFinalStatus(call.status));
}

/**
 * Compares the records of an ended call. A COMPLETED call must be billed for its seconds at the price fixed in its
 * request, at most the held amount. Any other call must cost nothing. The read model must show the settlement's
 * figures. Later corrections are separate ledger entries and do not change these records.
 */
export function compareBill(bill: CallBill): Finding[] {
  const { call, settlement, callId, ledgerAccountId } = bill;
  const findings: Finding[] = [];
  const expect = (kind: FindingKind, expected: FindingFacts, actual: FindingFacts) => {
    if (Object.keys(expected).some((name) => !Object.is(expected[name], actual[name]))) {
      findings.push({ kind, ledgerAccountId, callId, expected, actual });
    }
  };
  if (settlement === null) {
    expect('settlement_missing', { settled: true }, { settled: false });
    return findings;
  }
  const billedMicros = settlement.billedMicros ?? 0;
  expect('settlement_mismatch', ...settlementFacts(bill, settlement));
  if (call === null) {
    expect('call_missing', { billedMicros: 0 }, { billedMicros });
    return findings;
  }
  const { status, durationSeconds = 0, costMicros = 0 } = call;
  expect(
    'bill_mismatch',
    {
      status: billedMicros > 0 ? 'COMPLETED' : status,
      durationSeconds: billedSecondsOf(settlement),
      costMicros: billedMicros,
    },
    { status, durationSeconds, costMicros },
  );
  return findings;
}

/**
 * Returns the expected and actual facts of a settlement. They contain the price only if it differs from the request's.
 */
function settlementFacts(bill: CallBill, settlement: LedgerEntryDocument): [FindingFacts, FindingFacts] {
  const { billedSeconds = 0, heldMicros = 0, billedMicros = 0 } = settlement;
  const settledRate = rateOf(settlement);
  // A settlement without a hold bills nothing and may lack the price.
  const rate = heldMicros === 0 ? settledRate : (bill.microsPerSecond ?? settledRate);
  const payableMicros = priceOfSeconds(Math.min(billedSeconds, secondsCovered(heldMicros, rate)), rate);
  const price = (microsPerSecond: Micros) => (rate === settledRate ? {} : { microsPerSecond });
  return [
    {
      ledgerAccountId: bill.ledgerAccountId,
      heldMicros: bill.heldMicros ?? null,
      billedMicros: payableMicros,
      ...price(rate),
    },
    { ledgerAccountId: settlement.ledgerAccountId, heldMicros, billedMicros, ...price(settledRate) },
  ];
}

type Entries = Map<string, LedgerEntryDocument>;

async function readEntries(database: CallsDatabase, keys: readonly string[]): Promise<Entries> {
  const found = await database.ledgerEntries
    .find({ _id: { $in: keys } })
    .lean<LedgerEntryDocument[]>()
    .exec();
  return new Map(found.map((entry) => [entry._id, entry]));
}

function windowKeys(callId: string, from: number): string[] {
  return Array.from({ length: WINDOWS_AT_ONCE }, (_, index) => holdKey(callId, from + index));
}

/** Returns the sum of a settled call's holds. The last window is marked as last or granted nothing. */
async function sumHolds(database: CallsDatabase, callId: string, read: Entries): Promise<Micros | undefined> {
  let held = 0;
  let entries = read;
  for (let window = 0; ; window++) {
    if (window > 0 && window % WINDOWS_AT_ONCE === 0) entries = await readEntries(database, windowKeys(callId, window));
    const cell = entries.get(holdKey(callId, window));
    if (!cell) return undefined;
    held += cell.amountMicros ?? 0;
    if (cell.last || !cell.amountMicros) return held;
  }
}
