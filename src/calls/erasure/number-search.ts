import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { isFinalStatus, type CallStatus } from '../../kernel/call-state.js';
import { driverCollection } from '../../platform/mongo/driver-collection.js';
import { isE164 } from '../../kernel/phone-number.js';
import { nationalFormsOf } from '../../platform/numbering/national-forms.js';
import { createPlansLoader } from '../../platform/numbering/national-plans.js';
import type { CallsDatabase } from '../database.js';
import { readBills } from '../reconciliation/call-bills.js';
import { createNationalPattern } from './national-pattern.js';
import { createNumberPattern, type NumberPattern } from './number-pattern.js';
import { documentsWith, hasNumber, type StoredCollection, type StoredDocument } from './redaction.js';

export type StoredModel = keyof {
  [K in keyof CallsDatabase as CallsDatabase[K] extends { collection: { collectionName: string } } ? K : never]: true;
};

/** Collections whose documents belong to a call, with the field that has the call's id. */
const OF_CALLS = {
  calls: '_id',
  callRequests: '_id',
  conversationResults: '_id',
  liveWords: '_id',
  callSearch: '_id',
  webhookDeliveries: '_id',
  webhookAttempts: 'callId',
  carrierEvents: 'callId',
  idempotencyKeys: 'callId',
} as const satisfies Partial<Record<StoredModel, '_id' | 'callId'>>;

/** These collections, to pass through. */
export const CALL_MODELS = Object.entries(OF_CALLS) as [keyof typeof OF_CALLS, '_id' | 'callId'][];

/** Further collections that can contain a phone number and have an account. */
export const OF_ACCOUNTS = ['agents', 'phoneNumbers', 'auditEntries'] as const satisfies readonly StoredModel[];

/**
 * Collections that no phone number of a call reaches, unless somebody used it in a name, an address, a rule, a reason or the id of a
 * payment. They are searched and not changed. The audio of recordings is not searched.
 */
const SEARCHED = [
  'accounts',
  'accountFreezes',
  'apiKeys',
  'carrierBindings',
  'destinationCounts',
  'dialPacing',
  'emailLinks',
  'invitations',
  'ledgerAccounts',
  'ledgerEntries',
  'payments',
  'rateLimits',
  'reconciliationFindings',
  'unverifiedUsers',
  'users',
  'webLegs',
] as const satisfies readonly StoredModel[];

/** Where a phone number is stored. */
export interface NumberUse {
  /** Ended calls from, to or transferred to the number. */
  calls: string[];
  /** Ended calls that only mention the number. */
  mentions: string[];
  /** Ended calls with digits that may be the number without its country code, or something else, such as a date. */
  unsure: string[];
  /** Calls that have not ended. */
  inProgress: string[];
  /** Documents of agents, numbers and the audit log, by collection. */
  others: Record<string, number>;
  /** Accounts that have one of all these. */
  accountIds: string[];
  /** Documents that an operator has to look at, by collection. */
  left: Record<string, number>;
}

/** Creates the result for a number that is stored nowhere. */
export function noUse(): NumberUse {
  return { calls: [], mentions: [], unsure: [], inProgress: [], others: {}, accountIds: [], left: {} };
}

/** The patterns of one number. Each finds all that the one before finds. */
interface NumberPatterns {
  /** With its country code. */
  worldwide: NumberPattern;
  /** Also without it, in calls with a party in the country. */
  atHome: NumberPattern;
  /** Also digits in such calls that may be something else. */
  unsure: NumberPattern;
  /** Undefined if no country has the number. */
  countryCode?: string;
  /** Whether the phone of the number rings for a number in E.164: networks ignore surplus digits. */
  isReachedBy(other: string): boolean;
}

/** @param p.isUnsureMeant whether digits count as the number that may be something else */
export async function numberPatternsOf(
  number: string,
  { isUnsureMeant }: { isUnsureMeant: boolean },
): Promise<NumberPatterns> {
  const worldwide = createNumberPattern(number);
  const forms = await nationalFormsOf(number);
  if (forms === undefined) return { worldwide, atHome: worldwide, unsure: worldwide, isReachedBy: () => false };
  const plans = await createPlansLoader()();
  const isReachedBy = (other: string) =>
    other.startsWith(number) && isE164(other) && plans.withoutSurplusDigits(other) === number;
  const unsure = createNationalPattern(number, forms, { isSure: false });
  const atHome = isUnsureMeant ? unsure : createNationalPattern(number, forms, { isSure: true });
  return { worldwide, atHome, unsure, countryCode: forms.countryCode, isReachedBy };
}

export type NumberSearch = ReturnType<typeof createNumberSearch>;

/**
 * Creates the search for one number in all stored data. It reads every document, because texts of any call can mention a
 * number.
 */
export function createNumberSearch(database: CallsDatabase, patterns: NumberPatterns) {
  const { worldwide, countryCode } = patterns;

  /** Returns whether a call is one with the number's country. A call in the browser is one without any country. */
  async function countryOf(callId: string): Promise<'home' | 'abroad' | 'unknown'> {
    if (countryCode === undefined) return 'abroad';
    const parties = await partiesOf(database, callId);
    if (parties.some((party) => party.startsWith(countryCode))) return 'home';
    return parties.some((party) => party.startsWith('+')) ? 'abroad' : 'unknown';
  }

  /** People write a number without its country code in calls with its country. Without a country, they may do so. */
  const patternIn = {
    home: patterns.atHome,
    abroad: worldwide,
    unknown: patterns.atHome === patterns.unsure ? patterns.unsure : worldwide,
  };

  const mayMatter = {
    ...patterns.unsure,
    isIn: (text: string) => patterns.unsure.isIn(text) || patterns.isReachedBy(userOf(text)),
  };

  /** Whether a document of a call says that a party had the number, whatever the country of the call. */
  const isSureParty = (document: StoredDocument) =>
    isParty(document, worldwide) || partyTexts(document).some((text) => patterns.isReachedBy(text));

  /** Finds the calls whose documents contain the number, or digits that may be the number. */
  async function findCalls(): Promise<Map<string, 'party' | 'mention' | 'unsure'>> {
    const found = new Map<string, 'party' | 'mention' | 'unsure'>();
    for (const [model, field] of CALL_MODELS) {
      for await (const document of documentsWith(collectionOf(database, model), mayMatter)) {
        const callId = String(document[field]);
        const before = found.get(callId);
        const mayBeParty = isParty(document, patterns.unsure);
        if (before === 'party' || isSureParty(document)) found.set(callId, 'party');
        else if (!mayBeParty && (before === 'mention' || hasNumber(document, worldwide))) found.set(callId, 'mention');
        else {
          const country = await countryOf(callId);
          // Carriers report some callers without the country code.
          if (mayBeParty && patternIn[country] !== worldwide) found.set(callId, 'party');
          else if (hasNumber(document, patternIn[country])) found.set(callId, 'mention');
          else if (country !== 'abroad' && hasNumber(document, patterns.unsure)) found.set(callId, before ?? 'unsure');
        }
      }
    }
    return found;
  }

  return {
    /** Finds where the number is stored. Changes nothing. */
    async find(): Promise<NumberUse> {
      const use = noUse();
      const accountIds = new Set<string>();
      for (const [callId, kind] of await findCalls()) {
        const { accountId, hasEnded } = await readOwner(database, callId);
        if (accountId !== undefined && kind !== 'unsure') accountIds.add(accountId);
        if (kind === 'unsure') use.unsure.push(callId);
        else if (!hasEnded) use.inProgress.push(callId);
        else use[kind === 'party' ? 'calls' : 'mentions'].push(callId);
      }
      for (const model of OF_ACCOUNTS) {
        const collection = collectionOf(database, model);
        for await (const { accountId } of documentsWith(collection, worldwide)) {
          add(use.others, collection.collectionName);
          accountIds.add(String(accountId));
        }
      }
      for (const model of SEARCHED) {
        const collection = collectionOf(database, model);
        for await (const _ of documentsWith(collection, worldwide)) add(use.left, collection.collectionName);
      }
      return { ...use, accountIds: [...accountIds] };
    },

    /** Returns the pattern for a call. */
    patternOf: async (callId: string): Promise<NumberPattern> => patternIn[await countryOf(callId)],
  };
}

export function collectionOf(database: CallsDatabase, model: StoredModel): StoredCollection {
  return driverCollection<StoredDocument>(database, database[model]) as StoredCollection;
}

/** Whether a document of a call says that a party had the number. */
function isParty(document: StoredDocument, pattern: NumberPattern): boolean {
  return partyTexts(document).some((text) => pattern.isWhole(text));
}

function partyTexts({ fromPhoneNumber, toPhoneNumber, transferTo }: StoredDocument): string[] {
  return [fromPhoneNumber, toPhoneNumber, transferTo].flatMap((text) => (typeof text === 'string' ? userOf(text) : []));
}

/** The number of a caller that the carrier reports as a SIP address. Any other text is returned as it is. */
function userOf(text: string): string {
  const [, user = text] = /^(?:sips?|tel):([^@;]*)/i.exec(text.trim()) ?? [];
  return user;
}

/** Reads the phone numbers of a call. */
async function partiesOf({ calls, callRequests }: CallsDatabase, callId: string): Promise<string[]> {
  type Parties = { fromPhoneNumber?: string; toPhoneNumber?: string };
  const fields = { fromPhoneNumber: 1, toPhoneNumber: 1 } as const;
  const call = await calls.findById(callId, fields).lean<Parties>();
  const request = await callRequests.findById(callId, fields).lean<Parties>();
  return [call, request].flatMap((stored) => [stored?.fromPhoneNumber ?? '', stored?.toPhoneNumber ?? '']);
}

/**
 * Reads whose call it is, and whether it has ended. A call without any record of its course may still begin, unless it was
 * billed: then the record is lost.
 */
async function readOwner(
  database: CallsDatabase,
  callId: string,
): Promise<{ accountId?: string | undefined; hasEnded: boolean }> {
  type Owner = { accountId?: string; mode?: Mode; status?: CallStatus };
  const { calls, callRequests } = database;
  const call = await calls.findById(callId, { accountId: 1, status: 1 }).lean<Owner>();
  const request = await callRequests.findById(callId, { accountId: 1, mode: 1 }).lean<Owner>();
  const accountId = call?.accountId ?? request?.accountId;
  if (call === null) {
    const hasEnded = request?.accountId === undefined || (await isBilled(database, callId, request));
    return { accountId, hasEnded };
  }
  const hasEnded = call.accountId === undefined || (call.status !== undefined && isFinalStatus(call.status));
  return { accountId, hasEnded };
}

async function isBilled(
  database: CallsDatabase,
  callId: string,
  { accountId = '', mode = 'live' }: { accountId?: string; mode?: Mode },
): Promise<boolean> {
  const [bill] = await readBills(database, [{ callId, ledgerAccountId: ledgerAccountId(accountId, mode) }]);
  return (bill?.settlement?.billedMicros ?? 0) > 0;
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
