import { readBeginning } from './http-api.js';
import { reasoningEfforts, type ReasoningSettings } from './reasoning-effort.js';

/**
 * Names of the parameter that limits the output tokens: OpenAI's current one, then the older one. Some servers accept
 * only the older name; OpenAI's reasoning models reject it.
 */
const LIMIT_NAMES = ['max_completion_tokens', 'max_tokens'];
const EFFORT_NAME = 'reasoning_effort';
const MAX_REJECTION_BYTES = 8_192;
/** How long other forms are sent until one request tries the likeliest again, as the rejection may have been an error. */
const RETRY_AFTER_MS = 10 * 60_000;

/** Choices of an agent or the operator for a model. */
export interface ModelChoice extends ReasoningSettings {
  /** Reasoning models reject the field, or accept it only without reasoning. */
  temperature?: number;
}

type Fields = Readonly<Record<string, string | number | { effort: string }>>;

/** A part of a request that servers accept in different forms. */
interface Parameter {
  name: string;
  /** The form to send, then the others, the likeliest first. */
  forms: readonly Fields[];
  /** Whether an error message may be about this parameter in the form that was sent. */
  isIn(message: string, sent: Fields): boolean;
}

interface Reply {
  ok: boolean;
  status: number;
  clone(): { body: unknown };
}

/**
 * Sends the parameters of requests to `/chat/completions` that depend on the model and its server: the output token limit,
 * the reasoning effort and the temperature.
 */
export function createRequestParameters(settings: ModelChoice, maxOutputTokens: number, now?: () => number) {
  const effort = effortOf(settings, EFFORT_NAME, (value) => ({ [EFFORT_NAME]: value }));
  return createParameters([limitOf(maxOutputTokens), effort, temperatureOf(settings)], now);
}

/** Sends the same parameters of requests to `/responses`, where all models know the output token limit. */
export function createResponsesParameters(settings: ModelChoice, maxOutputTokens: number) {
  const limit = { name: 'limit', forms: [{ max_output_tokens: maxOutputTokens }], isIn: () => false };
  return createParameters([
    limit,
    effortOf(settings, 'reasoning', (effort) => ({ reasoning: { effort } })),
    temperatureOf(settings),
  ]);
}

export type RequestParameters = ReturnType<typeof createParameters>;

/** @param now a clock in ms that never goes back */
function createParameters(likeliest: readonly Parameter[], now: () => number = () => performance.now()) {
  let accepted = likeliest;
  /** When a request tries the likeliest forms again, if others are sent. */
  let retryAt = 0;

  /** Sends the request in other forms while its server rejects one of ours. */
  async function sendAgain<R extends Reply>(
    post: (fields: Fields) => Promise<R>,
    sent: readonly Parameter[],
    rejected: R,
  ): Promise<R> {
    let parameters = sent;
    const untried = new Map(parameters.map(({ name, forms }) => [name, forms.length - 1]));
    const left = ({ name }: Parameter) => untried.get(name) ?? 0;
    let reply = rejected;
    for (let message = await rejectionOf(reply); message !== ''; message = await rejectionOf(reply)) {
      const fault = parameters.find((parameter) => left(parameter) > 0 && parameter.isIn(message, formOf(parameter)));
      if (fault === undefined) return reply;
      untried.set(fault.name, left(fault) - 1);
      parameters = parameters.map((parameter) => (parameter === fault ? next(parameter) : parameter));
      reply = await post(fieldsOf(parameters));
    }
    if (reply.ok) adopt(parameters);
    return reply;
  }

  function adopt(parameters: readonly Parameter[]): void {
    accepted = parameters;
    retryAt = now() + RETRY_AFTER_MS;
  }

  /** Whether it is time for one request to try the likeliest forms again. The others do not wait for its result. */
  function mayTryAgain(): boolean {
    if (accepted === likeliest || now() < retryAt) return false;
    retryAt = now() + RETRY_AFTER_MS;
    return true;
  }

  return {
    /**
     * Sends a request with the parameters. If the server rejects one of them, sends the request again with another form
     * of it. Later requests use the other form only if the server accepted it here, because an error message may just
     * quote the request, and one customer's request must not change what is sent for others. For the same reason one
     * request tries the first form again after ten minutes.
     * @param post must not read the body of a response with status 400 or 422
     */
    async send<R extends Reply>(post: (fields: Fields) => Promise<R>): Promise<R> {
      const isTrial = mayTryAgain();
      const sent = isTrial ? likeliest : accepted;
      const reply = await post(fieldsOf(sent));
      if (reply.status === 400 || reply.status === 422) return sendAgain(post, sent, reply);
      if (reply.ok && isTrial) adopt(sent);
      return reply;
    },
  };
}

function limitOf(tokens: number): Parameter {
  return {
    name: 'limit',
    forms: LIMIT_NAMES.map((name) => ({ [name]: tokens })),
    isIn: (message, sent) => Object.keys(sent).some((name) => message.includes(name)),
  };
}

/** Errors name this field also if it was not sent. */
function effortOf(settings: ModelChoice, field: string, fieldsWith: (effort: string) => Fields): Parameter {
  return {
    name: 'effort',
    forms: reasoningEfforts(settings).map((effort) => (effort === undefined ? {} : fieldsWith(effort))),
    isIn: (message) => message.includes(field),
  };
}

function temperatureOf({ temperature }: ModelChoice): Parameter {
  return {
    name: 'temperature',
    forms: temperature === undefined ? [{}] : [{ temperature }, {}],
    isIn: (message) => message.includes('temperature'),
  };
}

const formOf = ({ forms }: Parameter): Fields => forms[0] ?? {};

/** The parameter with its next form as the one to send. */
function next(parameter: Parameter): Parameter {
  return { ...parameter, forms: [...parameter.forms.slice(1), formOf(parameter)] };
}

function fieldsOf(parameters: readonly Parameter[]): Fields {
  return Object.assign({}, ...parameters.map(formOf)) as Fields;
}

/** Reads the beginning of a 400 or 422, which may name a rejected parameter; an empty text for other responses. */
function rejectionOf(reply: Reply): Promise<string> {
  const { status } = reply;
  // A clone, because the body is read again for the report of the failure.
  return status === 400 || status === 422
    ? readBeginning(reply.clone().body, MAX_REJECTION_BYTES)
    : Promise.resolve('');
}
