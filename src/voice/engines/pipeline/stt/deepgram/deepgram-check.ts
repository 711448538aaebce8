import { z } from 'zod';
import { isFromElsewhere, reasonIn, type Ask } from '../../../start-checks/ask.js';
import { rejectedKey, unchecked, type ProviderFinding, type SettingNames } from '../../../start-checks/finding.js';

/** A model of Deepgram or of a server with its protocol. */
export interface DeepgramModel {
  /** Without a path, with `https:` or `http:`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  names: SettingNames;
}

const modelList = z.object({
  stt: z.array(
    z.object({
      name: z.string().nullish(),
      canonical_name: z.string().nullish(),
      architecture: z.string().nullish(),
      uuid: z.string().nullish(),
    }),
  ),
});
type ListedModel = z.output<typeof modelList>['stt'][number];

/** Creates the check of Deepgram's key and model. The list of models needs no key, so the key has its own request. */
export function createDeepgramCheck(ask: Ask): (question: DeepgramModel) => Promise<ProviderFinding[]> {
  return async (question) => (await Promise.all([checkKey(question), checkModel(question)])).flat();

  async function checkKey({ baseUrl, apiKey, names }: DeepgramModel): Promise<ProviderFinding[]> {
    const answer = await ask(`${baseUrl}/v1/auth/token`, headersOf(apiKey));
    if (answer.status === 401) return rejectedKey(names, apiKey);
    if (answer.status === 200) return [];
    return unchecked(isFromElsewhere(answer) ? names.url : names.key, reasonIn(answer));
  }

  async function checkModel({ baseUrl, apiKey, model, names }: DeepgramModel): Promise<ProviderFinding[]> {
    const answer = await ask(`${baseUrl}/v1/models`, headersOf(apiKey));
    if (answer.status === 401) return rejectedKey(names, apiKey);
    const list = answer.status === 200 ? modelList.safeParse(answer.body) : undefined;
    if (!list?.success) return unchecked(isFromElsewhere(answer) ? names.url : names.model, reasonIn(answer));
    if (list.data.stt.some((listed) => isNamed(listed, model))) return [];
    // The list has only public models, so it says nothing about newer ones and about those of this account.
    return unchecked(names.model, 'model not in the list of public models');
  }
}

/** Whether `model` selects the listed model. `nova-3` is short for `nova-3-general`. */
function isNamed(listed: ListedModel, model: string): boolean {
  const { name, canonical_name: canonicalName, architecture, uuid } = listed;
  return [name, canonicalName, architecture, uuid].includes(model) || canonicalName === `${model}-general`;
}

function headersOf(apiKey: string): Record<string, string> {
  return { authorization: `Token ${apiKey}` };
}
