import type { ConversationSettings } from '../../../../kernel/conversation/conversation-settings.js';
import type { SettingName } from '../../../../kernel/conversation/settings-support.js';
import type { ChatSettings } from '../../../models/chat-client.js';
import type { ModelChoice, RequestParameters } from '../../../models/request-parameters.js';
import type { OnIgnored } from '../../ignored-settings.js';

/** Maximum choices whose accepted parameters are kept. */
const MAX_KEPT = 200;

interface Response {
  ok: boolean;
  status: number;
  clone(): { body: unknown };
}

/**
 * Sends requests with the model, reasoning effort and temperature of the call's agent. Keeps the parameters that the
 * server accepted for each choice, so that one agent's choice does not change what is sent for others.
 */
export function createModelChoices(
  account: Pick<ChatSettings, 'model' | 'reasoningEffort'>,
  createParameters: (choice: ModelChoice) => RequestParameters,
) {
  const known = new Map<string, RequestParameters>();

  function parametersFor(choice: ModelChoice): RequestParameters {
    const key = JSON.stringify([choice.model, choice.reasoningEffort, choice.temperature]);
    const parameters = known.get(key) ?? createParameters(choice);
    // The choices that were used last are at the end.
    known.delete(key);
    known.set(key, parameters);
    const [oldest] = known.keys();
    if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
    return parameters;
  }

  return {
    /** @param post sends a request with these fields; must not read the body of a response with status 400 or 422 */
    async send<R extends Response>(
      settings: ConversationSettings,
      post: (fields: { model: string }) => Promise<R>,
      onIgnored: OnIgnored | undefined,
    ): Promise<R> {
      const choice = choiceOf(account, settings);
      let sent: object = {};
      const response = await parametersFor(choice).send((fields) => {
        sent = fields;
        return post({ model: choice.model, ...fields });
      });
      if (response.ok) onIgnored?.(ignoredIn(sent, settings));
      return response;
    },
  };
}

/** The operator's reasoning effort is meant for the operator's model, so it does not apply to an agent's. */
function choiceOf(account: Parameters<typeof createModelChoices>[0], settings: ConversationSettings): ModelChoice {
  const { model = account.model, temperature } = settings;
  const reasoningEffort = settings.reasoningEffort ?? (model === account.model ? account.reasoningEffort : undefined);
  return {
    model,
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(temperature === undefined ? {} : { temperature }),
  };
}

/** The settings that the accepted request does not have. */
function ignoredIn(sent: object, { reasoningEffort, temperature }: ConversationSettings): SettingName[] {
  const { reasoning_effort: chat, reasoning } = sent as { reasoning_effort?: string; reasoning?: { effort: string } };
  const ignored: SettingName[] = [];
  if (reasoningEffort !== undefined && reasoningEffort !== (chat ?? reasoning?.effort)) ignored.push('reasoningEffort');
  if (temperature !== undefined && !('temperature' in sent)) ignored.push('temperature');
  return ignored;
}
