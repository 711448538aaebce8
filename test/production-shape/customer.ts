import { createAgents } from '../../src/agents/agents.js';
import { createPhoneNumbers } from '../../src/agents/numbers/phone-numbers.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import type { Database } from '../../src/database.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { createApiKeys } from '../../src/identity/api-keys/api-keys.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';

export interface Customer {
  accountId: string;
  agentId: string;
  liveKey: string;
  testKey: string;
  /** The number at which the agent can be called. */
  number: string;
  instruction: string;
  creditedMicros: number;
}

const CREDITED_MICROS = 1_000_000_000;
const NUMBER = '+12025550199';
const INSTRUCTION = 'This is Amber from the harbor office, about berth forty. Ask whether the boat has arrived.';

/** Creates an account with money, an agent with a number, and an API key of each mode. */
export async function createCustomer(database: Database, p: { pepper: string; webhookUrl: string }): Promise<Customer> {
  const accounts = createAccounts(database);
  const { _id: accountId } = await accounts.create({ name: 'Harbor', plan: 'scale' });
  await createLedger(database).topUp({
    ledgerAccountId: ledgerAccountId(accountId, 'live'),
    paymentId: 'first-payment',
    amountMicros: CREDITED_MICROS,
  });
  await createPhoneNumbers(database).add({ number: NUMBER, accountId });
  const agent = await createAgents(database).create({
    accountId,
    name: 'Harbor office',
    instruction: INSTRUCTION,
    voice: 'amber',
    language: 'en-US',
    outputParameters: JSON.stringify({ arrived: false }),
    webhookUrl: p.webhookUrl,
    phoneNumber: NUMBER,
    maxDurationSeconds: 120,
  });
  const keys = createApiKeys({ database, pepper: p.pepper });
  const { secret: liveKey } = await keys.create({ accountId, mode: 'live', name: 'Harbor' });
  const { secret: testKey } = await keys.create({ accountId, mode: 'test', name: 'Harbor test' });
  const instruction = INSTRUCTION;
  const secrets = { liveKey, testKey, instruction };
  return { accountId, agentId: agent._id, number: NUMBER, creditedMicros: CREDITED_MICROS, ...secrets };
}
