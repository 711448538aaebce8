import { createPhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { assertAccount, recordChange } from './carrier-accounts.js';
import { phoneNumberView } from './views.js';

const COLUMNS = { phone_number: 'Number', agent_id: 'Agent', carrier_account: 'Carrier account', created_at: 'Added' };

export async function addNumberTo(
  on: AdminConnection,
  out: Output,
  accountId: string,
  number: string,
  options: { agent?: string; carrierAccount?: string },
) {
  const agent = options.agent === undefined ? {} : { agentId: options.agent };
  const { carrierAccount } = options;
  if (carrierAccount !== undefined) assertAccount(on, carrierAccount);
  const carrier = carrierAccount === undefined ? {} : { carrierAccount };
  const added = await createPhoneNumbers(on.database).add({ number, accountId, ...agent, ...carrier });
  await out.record('Number added.', phoneNumberView(added));
}

export async function listNumbersOf({ database }: AdminConnection, out: Output, accountId: string) {
  await out.table((await createPhoneNumbers(database).list(accountId)).map(phoneNumberView), COLUMNS);
}

export async function setAgentOfNumber(
  { database }: AdminConnection,
  out: Output,
  number: string,
  agentId: string | null,
) {
  const changed = await createPhoneNumbers(database).setAgent(number, agentId);
  await out.record(
    agentId === null ? 'Agent removed; the inbound agent of the account answers this number.' : 'Agent assigned.',
    phoneNumberView(changed),
  );
}

/** Sets the carrier account of a number, and enters it into the audit log of the number's owner. */
export async function setCarrierAccountOfNumber(on: AdminConnection, out: Output, number: string, name: string) {
  assertAccount(on, name);
  const changed = await createPhoneNumbers(on.database).setCarrierAccount(number, name);
  await recordChange(on, { accountId: changed.accountId, action: 'setCarrierAccountOfNumber', target: number });
  await out.record('Carrier account set; calls in progress are not affected.', phoneNumberView(changed));
}
