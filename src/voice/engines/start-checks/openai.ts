import { z } from 'zod';
import { bearer } from '../../models/http-api.js';
import { reasonIn, type ProviderAnswer, type Ask } from './ask.js';
import { missingModel, rejectedKey, retiring, unchecked, type ProviderFinding, type SettingNames } from './finding.js';

/** A model of OpenAI or of a compatible server. */
export interface OpenAiModel {
  /** Includes the version, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Empty if the server needs none. */
  apiKey: string;
  model: string;
  names: SettingNames;
}

/** `shutdown_date` is null until a shutdown is announced; other servers do not send it. */
const aModel = z.object({ id: z.string(), shutdown_date: z.unknown().optional() });
const modelList = z.object({ data: z.array(aModel) });
/** OpenAI sends an object; with missing permissions sometimes only a text. */
const errorBody = z.object({
  error: z.union([
    z.string().transform((message) => ({ code: undefined, message })),
    z.object({ code: z.unknown(), message: z.unknown() }),
  ]),
});

/**
 * Creates the check of a model. A model is certainly missing only if `GET /models/{id}` answers with the code
 * `model_not_found`. A list without it proves nothing: gateways accept names that they do not list, such as aliases and
 * wildcards. Servers without this route, or which do not find a name with a slash there, are asked for the list.
 */
export function createOpenAiCheck(ask: Ask): (question: OpenAiModel) => Promise<ProviderFinding[]> {
  return async (question) => {
    const { baseUrl, model, names } = question;
    if (isAzure(baseUrl)) return checkAzure(question);
    const answer = await ask(`${baseUrl}/models/${encodeURIComponent(model)}`, bearer(question.apiKey));
    const found = answer.status === 200 ? aModel.safeParse(answer.body) : undefined;
    if (found?.success) return retiring(names.model, found.data.shutdown_date);
    if (isKeyRejected(answer)) return rejectedKey(names, question.apiKey);
    // A project that may not use a model receives 403 with the same code.
    if ((answer.status === 404 || answer.status === 403) && errorIn(answer)?.code === 'model_not_found') {
      return missingModel(names, model);
    }
    if (answer.status === 404 || answer.status === 405) return searchList(question);
    return unchecked(names.model, permissionReason(answer) ?? reasonIn(answer));
  };

  async function searchList(question: OpenAiModel): Promise<ProviderFinding[]> {
    const { model, names } = question;
    const answer = await ask(`${question.baseUrl}/models`, bearer(question.apiKey));
    if (isKeyRejected(answer)) return rejectedKey(names, question.apiKey);
    const list = answer.status === 200 ? modelList.safeParse(answer.body) : undefined;
    if (!list?.success) return unchecked(names.model, permissionReason(answer) ?? reasonIn(answer));
    if (list.data.data.some(({ id }) => id === model)) return [];
    return unchecked(names.model, 'model not in the list of the server');
  }

  /** On Azure a model is the name of a deployment, and the list contains the models behind them. So ask about the key. */
  async function checkAzure(question: OpenAiModel): Promise<ProviderFinding[]> {
    const answer = await ask(`${question.baseUrl}/models`, bearer(question.apiKey));
    if (isKeyRejected(answer)) return rejectedKey(question.names, question.apiKey);
    return answer.status === 200 ? [] : unchecked(question.names.model, reasonIn(answer));
  }
}

function isAzure(baseUrl: string): boolean {
  return /\.azure\.(com|us|cn)$/.test(new URL(baseUrl).hostname);
}

function isKeyRejected(answer: ProviderAnswer): boolean {
  return answer.status === 401 && permissionReason(answer) === undefined;
}

/** OpenAI answers a restricted key that may not read models with 401 or 403, although the key may use them. */
function permissionReason(answer: ProviderAnswer): string | undefined {
  const message = errorIn(answer)?.message;
  const lacksScope = typeof message === 'string' && /missing scopes|insufficient permissions/i.test(message);
  return lacksScope ? 'the key may not read models' : undefined;
}

function errorIn(answer: ProviderAnswer): { code?: unknown; message?: unknown } | undefined {
  return answer.status === undefined ? undefined : errorBody.safeParse(answer.body).data?.error;
}
