import { createPhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { phoneNumberView } from './views.js';

const COLUMNS = { phone_number: 'Number', agent_id: 'Agent', created_at: 'Added' };

export async function addNumberTo(
  { database }: AdminConnection,
  out: Output,
  accountId: string,
  number: string,
  options: { agent?: string },
) {
  const agent = options.agent === undefined ? {} : { agentId: options.agent };
  const added = await createPhoneNumbers(database).add({ number, accountId, ...agent });
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
