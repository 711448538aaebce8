import { createErasures } from '../../calls/erasure/create-erasures.js';
import type { AccountErasure } from '../../calls/erasure/erase-account.js';
import type { NumberErasure } from '../../calls/erasure/erase-number.js';
import { createCallGateway } from '../../calls/gateway.js';
import { accountNotFound } from '../../kernel/common-errors.js';
import { withTemporalClient } from '../../platform/temporal/with-client.js';
import { CliError, EXIT_USAGE } from '../run.js';
import type { Output } from '../output.js';
import type { AdminConnection } from './connect.js';

interface EraseOptions {
  phone?: string;
  account?: string;
  confirm?: boolean;
  unsure?: boolean;
}

type Erasures = ReturnType<typeof createErasures>;

/** Erases everything about a phone number or an account. Without `--confirm`, only shows what there is. */
export async function erase(on: AdminConnection, out: Output, options: EraseOptions) {
  const { phone, account, confirm = false, unsure = false } = options;
  if ((phone === undefined) === (account === undefined)) {
    throw new CliError('Give either --phone or --account.', EXIT_USAGE);
  }
  if (unsure && phone === undefined) throw new CliError('--unsure needs --phone.', EXIT_USAGE);
  const { config, database } = on;
  const gateway = await createCallGateway({ config });
  try {
    await withTemporalClient(config, async (client) => {
      const erasures = createErasures({ config, database, gateway, client });
      if (phone !== undefined) await eraseNumber(erasures, out, phone, { confirm, unsure });
      else if (account !== undefined) await eraseAccount(erasures, out, account, confirm);
    });
  } finally {
    await gateway.close();
  }
}

async function eraseNumber(
  { numbers }: Erasures,
  out: Output,
  phone: string,
  { confirm, unsure: isUnsureMeant }: { confirm: boolean; unsure: boolean },
): Promise<void> {
  const found: Partial<NumberErasure> & Awaited<ReturnType<typeof numbers.find>> = await (confirm
    ? numbers.erase(phone, { isUnsureMeant })
    : numbers.find(phone, { isUnsureMeant }));
  const { calls, mentions, unsure, inProgress, others, left, invalidAgents = [] } = found;
  await out.record(sentenceOf(confirm), {
    calls: calls.length,
    calls_that_mention_it: mentions.length,
    calls_that_may_mention_it: unsure,
    calls_in_progress: inProgress,
    accounts: found.accountIds,
    other_documents: others,
    not_erased: left,
    ...(confirm ? { invalid_agents: invalidAgents } : {}),
    ...workflowsOf(found),
  });
  if (!confirm) return;
  if (found.isComplete !== true) {
    throw new CliError(
      'The number was stored again and again while the command ran. Repeat it when the load is lower.',
    );
  }
  if (Object.keys(left).length > 0) {
    throw new CliError('Documents that the command does not change contain the number: see not_erased.');
  }
  if (invalidAgents.length > 0) {
    throw new CliError('The number was erased from agents that a rule now does not allow: correct invalid_agents.');
  }
  if (unsure.length > 0) {
    throw new CliError(
      'Calls contain digits that may be the number without its country code, or something else, such as a date: see ' +
        'calls_that_may_mention_it. Look at them, then repeat the command with --unsure to erase these digits, too.',
    );
  }
  failIfLeft(found);
}

async function eraseAccount({ accounts }: Erasures, out: Output, accountId: string, confirm: boolean): Promise<void> {
  const before = await accounts.find(accountId);
  if (before.name === undefined && before.calls === 0 && !before.hasErasedCalls) throw accountNotFound(accountId);
  const found: Partial<AccountErasure> & typeof before = confirm ? await accounts.erase(accountId) : before;
  await out.record(sentenceOf(confirm), {
    account_id: accountId,
    name: found.name ?? '',
    calls: found.calls,
    calls_in_progress: found.inProgress,
    members: found.members,
    agents: found.agents,
    phone_numbers: found.phoneNumbers,
    ...workflowsOf(found),
  });
  if (confirm) failIfLeft(found);
}

function sentenceOf(confirm: boolean): string {
  return confirm ? 'Erased.' : 'Nothing was changed. Add --confirm to erase this. It cannot be undone.';
}

function workflowsOf({
  workflowsDeleted,
  workflowsLeft,
}: Partial<Pick<NumberErasure, 'workflowsDeleted' | 'workflowsLeft'>>) {
  return workflowsDeleted === undefined ? {} : { workflows_deleted: workflowsDeleted, workflows_left: workflowsLeft };
}

function failIfLeft({
  inProgress,
  workflowsLeft = 0,
}: {
  inProgress: readonly string[];
  workflowsLeft?: number;
}): void {
  if (inProgress.length > 0) {
    throw new CliError(
      `Calls in progress were not erased: ${inProgress.length}. Repeat the command when they have ended.`,
    );
  }
  if (workflowsLeft > 0) {
    throw new CliError(
      `Workflows of erased calls are left: ${workflowsLeft}. They contain ids and no number, and still run, or their calls are not reconciled. Repeat the command in 15 minutes.`,
    );
  }
}
