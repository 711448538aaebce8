import { invalidParam, runChecks } from '../../kernel/invalid-request.js';
import { assertWebhookUrl } from '../../platform/egress/webhook-url.js';
import { createPlansLoader } from '../../platform/numbering/national-plans.js';
import { createSecretBox } from '../../platform/secrets/secret-box.js';
import type { AgentChanges } from '../agent-fields.js';
import { assertToolUrls, assertTransferNumbers, type AgentPolicy } from '../agent-rules.js';
import type { AgentsDatabase } from '../database.js';
import type { HttpTool } from '../model.js';
import { storedTools } from '../tool-headers.js';

/**
 * Creates the check of new and changed agents against the capabilities of this service.
 * @param policy absent when the configuration is unknown
 */
export function createUsableCheck(database: AgentsDatabase, policy?: AgentPolicy) {
  const loadPlans = createPlansLoader();
  const box = policy && createSecretBox(policy.encryptionKeys);

  /**
   * Checks tools, transfer numbers, phone number and webhook URL.
   * @param others further checks, whose faults are reported together with these
   * @returns the tools in stored form
   * @throws ServiceError MISSING_PARAMS with all faults
   */
  return async (
    { tools: given, transferNumbers, phoneNumber, webhookUrl }: AgentChanges,
    { accountId, tools: present = [] }: { accountId: string; tools?: readonly HttpTool[] | undefined },
    others: readonly (() => unknown)[],
  ): Promise<{ tools?: HttpTool[] }> => {
    const plans = transferNumbers ? await loadPlans() : undefined;
    const isOwn = !phoneNumber || (await database.phoneNumbers.exists({ _id: phoneNumber, accountId })) !== null;
    const [tools] = runChecks(
      () => {
        const stored = given ? storedTools({ tools: given, present, accountId, box }) : undefined;
        if (policy !== undefined) assertToolUrls(stored, policy);
        return stored;
      },
      () => plans && assertTransferNumbers(transferNumbers ?? [], plans),
      () => {
        if (!isOwn) throw invalidParam('phone_number', 'phone_number must be a number of this account.');
      },
      () => policy && assertWebhookUrl(webhookUrl ?? undefined, policy),
      ...others,
    );
    return tools ? { tools } : {};
  };
}
