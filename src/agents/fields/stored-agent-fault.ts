import { ServiceError } from '../../kernel/errors.js';
import { checkAgentFields } from '../agent-fields.js';
import { assertAgentSize, assertTemplate } from '../agent-rules.js';
import type { AgentDocument } from '../model.js';
import { assertPromptSize } from '../prompt-size.js';
import { toolView } from '../tool-headers.js';

/**
 * Returns what is wrong with a stored agent by the rules of its fields, which every service has. Undefined if nothing is. Rules that
 * depend on the configuration, such as which voices there are, are not checked.
 */
export function storedAgentFault(agent: AgentDocument): string | undefined {
  try {
    const { tools = [], ...fields } = agent;
    checkAgentFields({ ...fields, tools: tools.map(toolView) });
    assertPromptSize('tools', { ...fields, tools });
    assertTemplate(agent.outputParameters, undefined);
    assertAgentSize(agent);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error.message;
    throw error;
  }
}
