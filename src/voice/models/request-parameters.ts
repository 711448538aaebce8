import { readBeginning } from './http-api.js';
import { reasoningEfforts, type ReasoningSettings } from './reasoning-effort.js';

/**
 * Names of the parameter that limits the output tokens: OpenAI's current one, then the older one. Some servers accept
 * only the older name; OpenAI's reasoning models reject it.
 */
const LIMIT_NAMES = ['max_completion_tokens', 'max_tokens'];
const EFFORT_NAME = 'reasoning_effort';
const MAX_REJECTION_BYTES = 8_192;

type Fields = Readonly<Record<string, string | number>>;

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
 * Sends the parameters of chat requests that depend on the model and its server: the output token limit and the
 * reasoning effort.
 */
export function createRequestParameters(settings: ReasoningSettings, maxOutputTokens: number) {
  let accepted = [limitOf(maxOutputTokens), effortOf(settings)];

  /** Sends the request in other forms while its server rejects one of ours. */
  async function sendAgain<R extends Reply>(post: (fields: Fields) => Promise<R>, rejected: R): Promise<R> {
    let parameters = accepted;
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
    if (reply.ok) accepted = parameters;
    return reply;
  }

  return {
    /**
     * Sends a request with the parameters. If the server rejects one of them, sends the request again with another form
     * of it. Later requests use the other form only if the server accepted it here, because an error message may just
     * quote the request, and one customer's request must not change what is sent for others.
     * @param post must not read the body of a response with status 400 or 422
     */
    async send<R extends Reply>(post: (fields: Fields) => Promise<R>): Promise<R> {
      const reply = await post(fieldsOf(accepted));
      return reply.status === 400 || reply.status === 422 ? sendAgain(post, reply) : reply;
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
function effortOf(settings: ReasoningSettings): Parameter {
  return {
    name: 'effort',
    forms: reasoningEfforts(settings).map((effort) => (effort === undefined ? {} : { [EFFORT_NAME]: effort })),
    isIn: (message) => message.includes(EFFORT_NAME),
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
