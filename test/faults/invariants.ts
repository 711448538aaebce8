import { Client, Connection } from '@temporalio/client';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { settlementKey } from '../../src/billing/ledger/keys.js';
import type { LedgerEntryDocument } from '../../src/billing/ledger/model.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import type { Database } from '../../src/database.js';
import type { CallResult } from '../../src/kernel/call-signals.js';
import { isFinalStatus } from '../../src/kernel/call-state.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { priceOfSeconds, rateOf, type Micros } from '../../src/kernel/money.js';
import type { WebhookAttemptDocument } from '../../src/webhooks/model.js';

/** The traces of a run: the live calls of one account, which should all have ended. */
export interface Evidence {
  database: Database;
  temporal: { address: string; namespace: string };
  accountId: string;
  /** Everything that was ever paid into the account. */
  creditedMicros: Micros;
  /** The calls whose request was accepted. */
  accepted: ReadonlySet<string>;
  /** The calls that the carrier carried, requested or not. */
  carried: readonly CarriedCall[];
  /** Texts that must not appear in clear, such as instructions and keys; phone numbers always count. */
  secrets: readonly string[];
  /** The log lines of the roles. */
  logs: string;
}

/** A call in the carrier's list. */
export interface CarriedCall {
  sid: string;
  direction: 'outbound' | 'inbound';
  duration_seconds: number | null;
}

/** Returns a sentence for each violation. */
type Check = (evidence: Evidence) => Promise<string[]>;

const MAX_ATTEMPTS = 4;
/** Numbers of the simulated callees. */
const PHONE_NUMBER = /\+?1202555\d{4}/;

/** The invariants that hold after any fault, by the behavior that each of them states. */
export const INVARIANTS: Readonly<Record<string, Check>> = {
  'the account equals the sum of its operations, and nothing is held (I1, I5)': balanceIsExact,
  'each call has one settlement, of its own holds, and all agree on it (I2, I3, I4)': settledOnce,
  'no callee is called twice, and none without a request (I6)': oneConversationPerCall,
  'every accepted request has a call with a final status (I7)': everyCallEnded,
  'every webhook is delivered once or has four attempts (I7)': everyWebhookDecided,
  'a call is billed the carrier’s seconds, and no more than was held (I8)': billsTheCarriersSeconds,
  'every concurrency slot is free': slotsAreFree,
  'the read model equals the result of the workflow (I9)': readModelEqualsResult,
  'no personal data is in logs, workflow histories or search attributes (I10)': nothingInClear,
};

async function balanceIsExact(evidence: Evidence): Promise<string[]> {
  const { database, accountId, creditedMicros } = evidence;
  const ledger = createLedger(database);
  const id = ledgerAccountId(accountId, 'live');
  const billedMicros = (await callsOf(evidence)).reduce((sum, call) => sum + (call.costMicros ?? 0), 0);
  const expected = { creditedMicros, availableMicros: creditedMicros - billedMicros, heldMicros: 0, billedMicros };
  const audit = await ledger.audit(id);
  return [
    ...unequal('balance', await ledger.balance(id), expected),
    ...(audit.balanced ? [] : [`the account does not equal its operations: ${JSON.stringify(audit)}`]),
  ];
}

async function settledOnce(evidence: Evidence): Promise<string[]> {
  const { database, accountId } = evidence;
  const id = ledgerAccountId(accountId, 'live');
  const ledger = createLedger(database);
  await ledger.sweep(id);
  const entries = await database.ledgerEntries.find({ ledgerAccountId: id }).lean<LedgerEntryDocument[]>();
  const byCall = groupBy(
    entries.filter(({ callId }) => callId !== undefined),
    ({ callId }) => callId,
  );
  return (await callsOf(evidence)).flatMap((call) => {
    const own = byCall.get(call._id) ?? [];
    const held = own.filter(({ type }) => type === 'hold').reduce((sum, { amountMicros = 0 }) => sum + amountMicros, 0);
    const settlements = own.filter(({ type }) => type === 'settlement');
    const [settlement] = settlements;
    // A rejected request holds nothing and has nothing to settle.
    if (settlement === undefined && held === 0 && (call.costMicros ?? 0) === 0) return [];
    const corrected = own
      .filter(({ type }) => type === 'correction')
      .reduce((sum, { amountMicros = 0 }) => sum + amountMicros, 0);
    const stated = {
      settlements: settlements.map(({ _id }) => _id),
      heldMicros: settlement?.heldMicros ?? 0,
      costMicros: (settlement?.billedMicros ?? 0) - corrected,
    };
    const expected = { settlements: [settlementKey(call._id)], heldMicros: held, costMicros: call.costMicros };
    return unequal(`settlement of ${call._id}`, stated, expected);
  });
}

async function oneConversationPerCall(evidence: Evidence): Promise<string[]> {
  const { database, accepted, carried } = evidence;
  const bound = await database.carrierBindings.find({ closed: { $ne: true } }).lean();
  const known = new Set(bound.map(({ carrierSid }) => carrierSid));
  const calls = await callsOf(evidence);
  const requested = calls.filter(({ _id, direction }) => direction === 'outbound' && accepted.has(_id)).length;
  const dialed = carried.filter(({ direction }) => direction === 'outbound').length;
  return [
    ...(known.size === bound.length ? [] : [`${bound.length} calls share ${known.size} calls of the carrier`]),
    ...(dialed <= requested ? [] : [`the carrier dialed ${dialed} calls for ${requested} requests`]),
  ];
}

async function everyCallEnded(evidence: Evidence): Promise<string[]> {
  const byId = new Map((await callsOf(evidence)).map((call) => [call._id, call]));
  return [...evidence.accepted].flatMap((callId) => {
    const status = byId.get(callId)?.status;
    return status !== undefined && isFinalStatus(status) ? [] : [`${callId} has the status ${status ?? 'none'}`];
  });
}

async function everyWebhookDecided({ database, accepted }: Evidence): Promise<string[]> {
  const attempts = await database.webhookAttempts.find({}).lean<WebhookAttemptDocument[]>();
  const byCall = groupBy(attempts, ({ callId }) => callId);
  return [...accepted].flatMap((callId) => {
    const own = byCall.get(callId) ?? [];
    const delivered = own.filter(({ outcome }) => outcome === 'delivered').length;
    if (delivered === 1 || (delivered === 0 && own.length === MAX_ATTEMPTS)) return [];
    return [`the webhook of ${callId} was delivered ${delivered} times in ${own.length} attempts`];
  });
}

async function billsTheCarriersSeconds(evidence: Evidence): Promise<string[]> {
  const seconds = new Map(evidence.carried.map(({ sid, duration_seconds }) => [sid, duration_seconds ?? 0]));
  const id = ledgerAccountId(evidence.accountId, 'live');
  const entries = await evidence.database.ledgerEntries.find({ ledgerAccountId: id, type: 'settlement' }).lean();
  const heldOf = new Map(entries.map(({ callId, heldMicros = 0 }) => [callId, heldMicros]));
  return (await callsOf(evidence)).flatMap((call) => {
    const durationSeconds = call.status === 'COMPLETED' ? seconds.get(call.carrierSid ?? '') : 0;
    const expected = { durationSeconds, costMicros: priceOfSeconds(durationSeconds ?? -1, rateOf(call)) };
    const stated = { durationSeconds: call.durationSeconds, costMicros: call.costMicros };
    const held = heldOf.get(call._id) ?? Infinity;
    return [
      ...unequal(`bill of ${call._id}, ${call.status} (${call.endReason})`, stated, expected),
      ...((call.costMicros ?? 0) <= held ? [] : [`${call._id} cost more than the ${held} held for it`]),
    ];
  });
}

async function slotsAreFree({ database, accountId }: Evidence): Promise<string[]> {
  const leases = await database.leases.findById(`${accountId}~live`).lean();
  const taken = leases?.count ?? 0;
  return taken === 0 ? [] : [`${taken} concurrency slots are in use`];
}

async function readModelEqualsResult(evidence: Evidence): Promise<string[]> {
  const byId = new Map((await callsOf(evidence)).map((call) => [call._id, call]));
  return withTemporal(evidence, async (client) => {
    const found: string[] = [];
    for (const callId of evidence.accepted) {
      const result = (await client.workflow.result(callId)) as CallResult;
      const call = byId.get(callId);
      const stated = { status: call?.status, endReason: call?.endReason, billedSeconds: call?.durationSeconds };
      const { status, endReason, billedSeconds = 0 } = result;
      found.push(...unequal(`read model of ${callId}`, stated, { status, endReason, billedSeconds }));
    }
    return found;
  });
}

async function nothingInClear(evidence: Evidence): Promise<string[]> {
  const found: string[] = [];
  const look = (where: string, text: string) => {
    const secret = evidence.secrets.find((each) => text.includes(each)) ?? PHONE_NUMBER.exec(text)?.[0];
    if (secret === undefined) return;
    const line = text.split('\n').find((each) => each.includes(secret)) ?? '';
    found.push(`${where} contain ${JSON.stringify(secret)}: ${line.slice(0, 300)}`);
  };
  look('the logs', evidence.logs);
  await withTemporal(evidence, async (client) => {
    for (const callId of evidence.accepted) {
      const handle = client.workflow.getHandle(callId);
      look(
        `the history and attributes of ${callId}`,
        plainText([await handle.describe(), await handle.fetchHistory()]),
      );
    }
  });
  return found;
}

function callsOf({ database, accountId }: Evidence): Promise<CallDocument[]> {
  return database.calls.find({ accountId, mode: 'live' }).lean<CallDocument[]>().exec();
}

async function withTemporal<T>({ temporal }: Evidence, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    return await work(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

/** Returns all texts of a message of Temporal, with the bytes of payloads decoded. */
function plainText(value: unknown): string {
  const seen = new Set<unknown>();
  const textOf = (each: unknown): string => {
    if (each instanceof Uint8Array) return Buffer.from(each).toString();
    if (typeof each !== 'object' || each === null) return String(each);
    if (seen.has(each)) return '';
    seen.add(each);
    return Object.values(each).map(textOf).join('\n');
  };
  return textOf(value);
}

/** Groups items by a key, in their order. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function unequal(what: string, stated: object, expected: object): string[] {
  const [left, right] = [JSON.stringify(sorted(stated)), JSON.stringify(sorted(expected))];
  return left === right ? [] : [`${what}: ${left}, expected ${right}`];
}

function sorted(fields: object): object {
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => a.localeCompare(b)));
}
