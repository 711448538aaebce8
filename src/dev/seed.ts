import { createInboundAgents } from '../agents/inbound-agent.js';
import { randomBytes } from 'node:crypto';
import { isDuplicateKey } from '../platform/mongo/connection.js';
import type { Database } from '../database.js';
import { createAccounts } from '../identity/accounts/accounts.js';
import { createAgents } from '../agents/agents.js';
import { createApiKeys } from '../identity/api-keys/api-keys.js';
import { ServiceError } from '../kernel/errors.js';
import { DEMO_ACCOUNT_ID, DEMO_AGENT_ID, ledgerAccountId, type Mode } from '../kernel/ids.js';
import { MICROS_PER_USD } from '../kernel/money.js';
import { createLedger } from '../billing/ledger/ledger.js';
import { createMembers } from '../identity/people/members.js';
import { createPasswords } from '../identity/people/passwords.js';
import { createPhoneNumbers } from '../agents/numbers/phone-numbers.js';

/** An address in a domain that does not exist, so that e-mail sent to it reaches no one. */
export const DEMO_EMAIL = 'demo@callwright.local';
export const DEMO_PHONE_NUMBER = '+12025550199';

const DEMO_BALANCE_MICROS = 100 * MICROS_PER_USD;

const DEMO_INSTRUCTION = [
  // The demo engine ends its greeting with the first sentence of the instruction, in outbound and inbound calls.
  'This is Amber at the Callwright front desk, about your appointment tomorrow at ten.',
  'Be polite and brief. Ask whether the person will come, for the four digits of the confirmation code,',
  'and for the time of day that suits best.',
  'Thank the person and say goodbye.',
].join(' ');

const DEMO_TEMPLATE = JSON.stringify({
  appointment_confirmed: false,
  confirmation_code: null,
  preferred_time: 'morning|afternoon|evening',
});

export interface DemoAccount {
  accountId: string;
  /** Null if the keys existed before, because only their hashes are stored. */
  liveApiKey: string | null;
  testApiKey: string | null;
  agentId: string;
  phoneNumber: string;
}

/**
 * Creates the owner of the demo account for the portal, with a random password that is returned only here. The owner is
 * also an operator, because a developer runs the service alone.
 * @returns null when the owner already exists
 */
export async function seedDemoOwner(database: Database): Promise<{ email: string; password: string } | null> {
  const made = await makeDemoOwner(database);
  // An owner created by an earlier version is not an operator yet.
  await database.users.updateOne({ email: DEMO_EMAIL, accountId: DEMO_ACCOUNT_ID }, { $set: { operator: true } });
  return made;
}

async function makeDemoOwner(database: Database): Promise<{ email: string; password: string } | null> {
  if (await database.users.exists({ email: DEMO_EMAIL })) return null;
  const password = randomBytes(12).toString('base64url');
  const passwordHash = await createPasswords().hash(password);
  try {
    await createMembers(database).signUp({
      email: DEMO_EMAIL,
      name: 'Demo',
      passwordHash,
      accountName: 'Demo',
      accountId: DEMO_ACCOUNT_ID,
    });
    return { email: DEMO_EMAIL, password };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'CONFLICT') return null;
    throw error;
  }
}

/**
 * Creates the demo account with 100 USD, a key for each mode, an agent, and a number whose calls that agent answers.
 * The ids are fixed and existing parts are left unchanged, so this can run at every start.
 * @param p.reissueKeys true revokes the demo keys and creates new ones, because the secrets of the old ones are lost
 */
export async function seedDemo(p: {
  database: Database;
  pepper: string;
  webhookUrl: string;
  voice?: string;
  language?: string;
  reissueKeys?: boolean;
}): Promise<DemoAccount> {
  const { database } = p;
  const accounts = createAccounts(database);
  const account =
    (await accounts.find(DEMO_ACCOUNT_ID)) ??
    (await accounts.create({ accountId: DEMO_ACCOUNT_ID, name: 'Demo', plan: 'scale' }));
  await createLedger(database).topUp({
    ledgerAccountId: ledgerAccountId(account._id, 'live'),
    paymentId: 'demo',
    amountMicros: DEMO_BALANCE_MICROS,
  });
  const phoneNumbers = createPhoneNumbers(database);
  await phoneNumbers.add({ number: DEMO_PHONE_NUMBER, accountId: account._id });
  await seedAgent(p);
  if (account.inboundAgentId === undefined) await createInboundAgents(database).set(account._id, DEMO_AGENT_ID);
  return {
    accountId: account._id,
    liveApiKey: await seedKey(p, 'live'),
    testApiKey: await seedKey(p, 'test'),
    agentId: DEMO_AGENT_ID,
    phoneNumber: DEMO_PHONE_NUMBER,
  };
}

async function seedAgent(p: Parameters<typeof seedDemo>[0]): Promise<void> {
  const agents = createAgents(p.database);
  const present = await agents.find(DEMO_AGENT_ID);
  if (present) {
    // The inbox may have another port after a restart. If the user has set a URL with another host, keep that URL.
    if (present.webhookUrl !== p.webhookUrl && isLoopback(present.webhookUrl)) {
      await agents.update(DEMO_AGENT_ID, { webhookUrl: p.webhookUrl });
    }
    return;
  }
  try {
    await agents.create({
      agentId: DEMO_AGENT_ID,
      accountId: DEMO_ACCOUNT_ID,
      name: 'Appointment reminder',
      instruction: DEMO_INSTRUCTION,
      voice: p.voice ?? 'amber',
      language: p.language ?? 'en-US',
      outputParameters: DEMO_TEMPLATE,
      webhookUrl: p.webhookUrl,
      phoneNumber: DEMO_PHONE_NUMBER,
    });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

async function seedKey(p: Parameters<typeof seedDemo>[0], mode: Mode): Promise<string | null> {
  const apiKeys = createApiKeys(p);
  const name = `Demo ${mode}`;
  const present = (await apiKeys.list(DEMO_ACCOUNT_ID)).filter((key) => key.name === name && !key.revokedAt);
  if (present.length > 0 && p.reissueKeys !== true) return null;
  for (const { keyId } of present) await apiKeys.revoke(keyId);
  return (await apiKeys.create({ accountId: DEMO_ACCOUNT_ID, mode, name })).secret;
}

function isLoopback(url: string | undefined): boolean {
  return url !== undefined && ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
