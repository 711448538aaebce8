import type { Agents } from '../../agents/agents.js';
import type { AgentDocument } from '../../agents/model.js';
import { assertMayChange, givenAgent } from '../../agents/routes.js';
import type { Principal } from '../../identity/access/principal.js';
import { ServiceError } from '../../kernel/errors.js';
import { isInvalidRequest } from '../../kernel/invalid-request.js';
import type { Config } from '../../platform/config/config.js';
import type { WebCallRequest } from './contract.js';

/**
 * Checks a draft, which conducts one call and is not stored.
 * @param stored the agent that it is a draft of
 * @throws ServiceError MISSING_PARAMS naming the fields `agent.…`; FORBIDDEN if the principal must not change the stored
 *   agent, because a changed tool would receive its secret headers
 */
export async function createDraft(
  { agents, config }: { agents: Agents; config: Config },
  principal: Principal,
  draft: NonNullable<WebCallRequest['agent']>,
  stored: AgentDocument | undefined,
): Promise<AgentDocument> {
  const { account, mode } = principal;
  if (stored !== undefined) assertMayChange(principal, stored);
  try {
    return await agents.draft({ ...givenAgent(draft, config), accountId: account._id, mode, of: stored });
  } catch (error) {
    throw isInvalidRequest(error) ? ofDraft(error) : error;
  }
}

/** The same error about the fields of a draft. */
function ofDraft({ code, message, details, faults }: ServiceError): ServiceError {
  const { fields } = details;
  const named =
    typeof fields === 'object'
      ? { fields: Object.fromEntries(Object.entries(fields).map(([name, text]) => [`agent.${name}`, text])) }
      : {};
  const ofAgent = faults.map((fault) => ({ ...fault, param: `agent.${fault.param}` }));
  return new ServiceError(code, message, { ...details, ...named }, undefined, ofAgent);
}
