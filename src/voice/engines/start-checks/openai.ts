import { z } from 'zod';
import { bearer } from '../../models/http-api.js';
import { isFromElsewhere, reasonIn, type Ask, type Asking, type ProviderAnswer } from './ask.js';
import { findingsOf, type Lookup, type ProviderFinding, type SettingNames } from './finding.js';

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

/** Creates the check of a model that a setting names. */
export function createOpenAiCheck(ask: Ask): (question: OpenAiModel) => Promise<ProviderFinding[]> {
  const findModel = createOpenAiLookup(ask);
  return async (question) => findingsOf(await findModel(question), question);
}

/** Checks the model of an account at start, as a description of a provider does. */
export function checkOpenAiModel(
  { baseUrl, apiKey, model }: Question,
  { ask }: Pick<Asking, 'ask'>,
  names: SettingNames,
): Promise<ProviderFinding[]> {
  return createOpenAiCheck(ask)({ baseUrl, apiKey, model, names });
}

type Question = Omit<OpenAiModel, 'names'>;

/**
 * Creates the search for a model. A model is certainly missing only if `GET /models/{id}` answers with the code
 * `model_not_found`. A list without it proves nothing: gateways accept names that they do not list, such as aliases and
 * wildcards. Servers without this route, or which do not find a name with a slash there, are asked for the list.
 */
export function createOpenAiLookup(ask: Ask): (question: Question) => Promise<Lookup> {
  return async (question) => {
    const { baseUrl, apiKey, model } = question;
    if (isAzure(baseUrl)) return findAzure(question);
    const answer = await ask(`${baseUrl}/models/${encodeURIComponent(model)}`, bearer(apiKey));
    const found = answer.status === 200 ? aModel.safeParse(answer.body) : undefined;
    if (found?.success) return { state: 'found', shutdownDate: found.data.shutdown_date };
    if (isKeyRejected(answer)) return { state: 'keyRejected' };
    // A project that may not use a model receives 403 with the same code.
    if ((answer.status === 404 || answer.status === 403) && errorIn(answer)?.code === 'model_not_found') {
      return { state: 'missing' };
    }
    if (answer.status === 404 || answer.status === 405) return searchList(question);
    return unknown(answer);
  };

  async function searchList({ baseUrl, apiKey, model }: Question): Promise<Lookup> {
    const answer = await ask(`${baseUrl}/models`, bearer(apiKey));
    if (isKeyRejected(answer)) return { state: 'keyRejected' };
    const list = answer.status === 200 ? modelList.safeParse(answer.body) : undefined;
    if (!list?.success) return unknown(answer);
    if (list.data.data.some(({ id }) => id === model)) return { state: 'found' };
    return { state: 'unknown', why: 'model not in the list of the server' };
  }

  /** On Azure a model is the name of a deployment, and the list contains the models behind them. So ask about the key. */
  async function findAzure({ baseUrl, apiKey }: Question): Promise<Lookup> {
    const answer = await ask(`${baseUrl}/models`, bearer(apiKey));
    if (isKeyRejected(answer)) return { state: 'keyRejected' };
    return answer.status === 200 ? { state: 'found' } : unknown(answer);
  }
}

function unknown(answer: ProviderAnswer): Lookup {
  const why = permissionReason(answer) ?? reasonIn(answer);
  return { state: 'unknown', why, isElsewhere: isFromElsewhere(answer) };
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
