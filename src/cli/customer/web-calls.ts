import type { WebCallRequest } from '../../calls/web/contract.js';
import { draftIn } from '../agent-options.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { conductOf, type ConductOptions } from './create-call.js';
import type { Service } from './service.js';

/** Options of `web-calls create`, with commander's attribute names. */
export interface NewWebCallOptions extends ConductOptions {
  draftFile?: string;
}

const NEXT = 'Call started. Connect to url within 60 s and send the token in the first message (docs/web-calls.md).';

export async function createWebCall(
  { client }: Service,
  out: Output,
  { draftFile, ...options }: NewWebCallOptions,
): Promise<void> {
  const conduct = await conductOf(options);
  if (draftFile === undefined && conduct.agent_id === undefined && conduct.instruction === undefined) {
    throw new CliError('--agent, --draft-file, --instruction or --instruction-file is required.', EXIT_USAGE);
  }
  // The service checks the draft.
  const agent = draftFile === undefined ? {} : { agent: (await draftIn(draftFile)) as WebCallRequest['agent'] };
  await out.record(NEXT, await client.post('/web_calls', { body: { ...conduct, ...agent } }));
}
