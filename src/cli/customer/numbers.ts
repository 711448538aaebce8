import type { Output } from '../output.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import type { Service } from './service.js';

const COLUMNS = { phone_number: 'Number', active_agent_id: 'Answered by', agent_id: 'Own agent', created_at: 'Added' };

export async function listNumbers({ client }: Service, out: Output): Promise<void> {
  await out.page(await client.get('/phone_numbers'), COLUMNS);
}

export async function addNumber(
  { client }: Service,
  out: Output,
  phoneNumber: string,
  options: { agent?: string },
): Promise<void> {
  const body = { phone_number: phoneNumber, ...omitUndefined({ agent_id: options.agent }) };
  await out.record('Number added.', await client.post('/phone_numbers', { body }));
}

export async function setNumberAgent(
  { client }: Service,
  out: Output,
  phoneNumber: string,
  agentId: string | null,
): Promise<void> {
  const params = { phone_number: phoneNumber };
  const number = await client.patch('/phone_numbers/{phone_number}', { params, body: { agent_id: agentId } });
  await out.record(
    agentId === null ? 'Agent removed; the inbound agent of the account answers this number.' : 'Agent assigned.',
    number,
  );
}

export async function removeNumber({ client }: Service, out: Output, phoneNumber: string): Promise<void> {
  const params = { phone_number: phoneNumber };
  await out.record('Number removed.', await client.delete('/phone_numbers/{phone_number}', { params }));
}
