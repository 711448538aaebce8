import { ledgerAccountId } from '../../kernel/ids.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallsDatabase } from '../database.js';
import type { CursorDocument } from '../reconciliation/model.js';
import { findReconciled } from '../reconciliation/reconciled.js';

/** The fields of a request that tell whether data of its call may be deleted. */
export type OldRequest = KnownRequest & Pick<CallRequestDocument, 'createdAt'>;
type KnownRequest = Pick<CallRequestDocument, '_id' | 'accountId' | 'mode' | 'toPhoneNumber'>;
export const OLD_REQUEST_FIELDS = { accountId: 1, mode: 1, createdAt: 1, toPhoneNumber: 1 } as const;

/** Returns the ids of those requests whose data may be deleted, because nothing needs it any more. */
export async function findReady(database: CallsDatabase, requests: readonly KnownRequest[]): Promise<Set<string>> {
  const ids = requests.map(({ _id }) => _id);
  // The reconciler's walk of calls looks for webhooks that were not sent.
  const walked = await database.reconciliationCursors.findById('calls').lean<CursorDocument>();
  const read = await database.calls
    .find({ _id: { $in: ids } }, { accountId: 1, owner: 1, updatedAt: 1 })
    .lean<(Pick<CallDocument, '_id' | 'accountId' | 'owner'> & { updatedAt?: Date })[]>();
  const stored = read.filter(({ accountId, owner }) => accountId ?? owner);
  const isCall = new Set(stored.map(({ _id }) => _id));
  const isWalked = ({ updatedAt }: { updatedAt?: Date }) =>
    updatedAt === undefined || (walked?.at !== undefined && updatedAt <= walked.at);
  const mayBeReady = new Set(stored.filter(isWalked).map(({ _id }) => _id));
  const ready = await findReconciled(
    database,
    requests
      .filter(({ _id }) => mayBeReady.has(_id) || !isCall.has(_id))
      .map(({ _id, accountId, mode }) => ({ callId: _id, ledgerAccountId: ledgerAccountId(accountId, mode) })),
  );
  // The requests of rejected and given-up calls are erased at once, and have no call that needs them.
  for (const { _id, toPhoneNumber } of requests) if (!isCall.has(_id) && toPhoneNumber === '') ready.add(_id);
  return ready;
}

/** Returns the ids of those calls whose data may be deleted. Nothing needs the data of a call without any record. */
export async function findReadyCalls(database: CallsDatabase, callIds: readonly string[]): Promise<Set<string>> {
  const requests = await database.callRequests
    .find({ _id: { $in: [...callIds] } }, OLD_REQUEST_FIELDS)
    .lean<KnownRequest[]>();
  const requested = new Set(requests.map(({ _id }) => _id));
  const others = callIds.filter((callId) => !requested.has(callId));
  const calls = await database.calls
    .find({ _id: { $in: others } }, { accountId: 1, mode: 1, toPhoneNumber: 1 })
    .lean<(Pick<CallDocument, '_id' | 'mode' | 'toPhoneNumber'> & { accountId?: string })[]>();
  const known = calls.flatMap(({ accountId, ...call }) => (accountId === undefined ? [] : [{ ...call, accountId }]));
  const ready = await findReady(database, [...requests, ...known]);
  const isKnown = new Set(known.map(({ _id }) => _id));
  for (const callId of others) if (!isKnown.has(callId)) ready.add(callId);
  return ready;
}
