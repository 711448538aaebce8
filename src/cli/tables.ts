import type { Output } from './output.js';
import { CliError, EXIT_USAGE } from './run.js';

/** Fields and headings of tables that the customer and admin commands share. */
export const AGENT_TABLE = {
  agent_id: 'Agent',
  name: 'Name',
  mode: 'Mode',
  voice: 'Voice',
  language: 'Language',
  max_duration_seconds: 'Max s',
  phone_number: 'Number',
  webhook_url: 'Webhook',
};

export const KEY_TABLE = {
  key_id: 'Key',
  name: 'Name',
  mode: 'Mode',
  prefix: 'Begins',
  last_four: 'Ends',
  state: 'State',
  expires_at: 'Expires',
  last_used_at: 'Last used',
};

export const LEDGER_TABLE = {
  at: 'At',
  type: 'Type',
  about: 'Call or payment',
  available: 'Available USD',
  held: 'Held USD',
  billed: 'Billed USD',
};

/** @throws CliError when both JSON and CSV are requested */
export function assertOneFormat(out: Output, csv: boolean | undefined): void {
  if (csv && out.json) throw new CliError('--json and --csv cannot be combined.', EXIT_USAGE);
}
