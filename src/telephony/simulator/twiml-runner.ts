import { setTimeout as wait } from 'node:timers/promises';
import { addLog, noteError, type CallRecord, type DialLog, type WebhookTarget } from './call-record.js';
import { callFormFields } from './callbacks.js';
import type { DialVerb } from './dial.js';
import type { StreamRequest } from './media/media-stream.js';
import { parseTwiml, type TwimlElement } from './twiml.js';
import type { CallbackClient } from './webhook-client.js';

/** Where the instructions of a call come from. */
export type TwimlSource =
  /** `extra`: form fields beside the carrier's own. */
  | { kind: 'url'; target: WebhookTarget; fallback?: WebhookTarget; extra?: Record<string, string> }
  | { kind: 'inline'; twiml: string };

/** `done`: the verbs ran out or said hang up; `rejected`: refused before an answer; `failed`: no usable instructions. */
export type TwimlEnd = 'done' | 'rejected' | 'failed';

export interface TwimlRunner {
  /**
   * Carries out the instructions, following redirects, to their end.
   * @param signal aborts them: the call is over or has got other instructions. Rejects with its reason then.
   */
  run(source: TwimlSource, signal: AbortSignal): Promise<TwimlEnd>;
}

type Step = { next: TwimlSource } | { end: TwimlEnd } | undefined;

/** The carrier's hard cap for requests that a call waits for, ms. */
const WEBHOOK_TIMEOUTS = { connectTimeout: 5_000, readTimeout: 15_000, totalTimeout: 15_000 };
const MAX_DOCUMENTS = 100;
const MAX_SECONDS = 14_400;
const DIAL_RING_SECONDS = 30;
/** How long a text takes to be said. Nothing is heard of it: there is no audio but the script's. */
const MS_PER_CHARACTER = 60;

/** The document could not be had or understood; the code is the carrier's. */
class InstructionError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export function createTwimlRunner(deps: {
  call: CallRecord;
  webhooks: CallbackClient;
  /** Called before the first verb that needs an open line. */
  answer(): void;
  stream(request: StreamRequest, signal: AbortSignal): Promise<void>;
  dial(request: DialVerb, signal: AbortSignal): Promise<DialLog>;
}): TwimlRunner {
  const { call } = deps;

  async function request(target: WebhookTarget, purpose: 'twiml' | 'fallback', extra: Record<string, string> = {}) {
    const params = { ...callFormFields(call), ...extra };
    const at = new Date().toISOString();
    let answer = await deps.webhooks.send({
      ...target,
      ...WEBHOOK_TIMEOUTS,
      params,
      authToken: call.account.authToken,
    });
    // A connection that did not come to be is tried once more.
    if (!answer.ok && answer.cause === 'ct') {
      answer = await deps.webhooks.send({ ...target, ...WEBHOOK_TIMEOUTS, params, authToken: call.account.authToken });
    }
    addLog(call.requests, {
      at,
      purpose,
      method: target.method,
      url: target.url,
      params,
      attempt: 1,
      ms: answer.ms,
      ...(answer.ok ? { status: answer.status, body: answer.body.slice(0, 4_000) } : { error: answer.error }),
    });
    if (!answer.ok) throw new InstructionError(answer.cause === 'ct' ? 11205 : 11200, `No answer: ${answer.error}.`);
    if (answer.status >= 300) throw new InstructionError(11200, `The answer was ${answer.status}.`);
    if (answer.contentType === '') throw new InstructionError(11200, 'The answer has no content type.');
    if (!/^(text|application)\/xml\b/i.test(answer.contentType)) {
      throw new InstructionError(12300, `The content type ${answer.contentType} is not XML.`);
    }
    return parse(answer.body);
  }

  function parse(xml: string): TwimlElement[] {
    addLog(call.twiml, xml);
    try {
      return parseTwiml(xml);
    } catch (error) {
      throw new InstructionError(12100, error instanceof Error ? error.message : 'The document cannot be read.');
    }
  }

  async function instructions(source: TwimlSource): Promise<TwimlElement[]> {
    if (source.kind === 'inline') return parse(source.twiml);
    try {
      return await request(source.target, 'twiml', source.extra);
    } catch (error) {
      if (!(error instanceof InstructionError) || source.fallback === undefined) throw error;
      noteError(call, error.code, error.message);
      return request(source.fallback, 'fallback', {
        ...source.extra,
        ErrorCode: String(error.code),
        ErrorUrl: source.target.url,
      });
    }
  }

  async function perform(verb: TwimlElement, source: TwimlSource, signal: AbortSignal): Promise<Step> {
    if (verb.name === 'Reject') {
      if (call.answeredAt === undefined) return { end: 'rejected' };
      return { end: 'done' };
    }
    deps.answer();
    switch (verb.name) {
      case 'Connect':
        return connect(verb, source, signal);
      case 'Dial':
        return dial(verb, source, signal);
      case 'Say':
        await wait(verb.text.trim().length * MS_PER_CHARACTER, undefined, { signal });
        return undefined;
      case 'Pause':
        await wait(secondsOf(verb, 'length', 1) * 1_000, undefined, { signal });
        return undefined;
      case 'Redirect':
        return { next: { kind: 'url', target: target(verb.text.trim(), verb.attributes['method'], source) } };
      case 'Hangup':
        return { end: 'done' };
      default:
        throw new InstructionError(12100, `<${verb.name}> is not a verb this carrier knows.`);
    }
  }

  async function connect(verb: TwimlElement, source: TwimlSource, signal: AbortSignal): Promise<Step> {
    const stream = verb.children.find((child) => child.name === 'Stream');
    const url = stream?.attributes['url'];
    if (stream === undefined || url === undefined) throw new InstructionError(12100, '<Connect> needs a <Stream url>.');
    const customParameters = Object.fromEntries(
      stream.children
        .filter((child) => child.name === 'Parameter')
        .map(({ attributes }) => [attributes['name'] ?? '', attributes['value'] ?? '']),
    );
    await deps.stream({ url, customParameters }, signal);
    signal.throwIfAborted();
    const action = verb.attributes['action'];
    if (action === undefined) return undefined;
    return { next: { kind: 'url', target: target(action, verb.attributes['method'], source) } };
  }

  async function dial(verb: TwimlElement, source: TwimlSource, signal: AbortSignal): Promise<Step> {
    const numbers = verb.children.filter((child) => child.name === 'Number');
    if (numbers.length > 1 || numbers.length < verb.children.length) {
      throw new InstructionError(12100, '<Dial> takes one <Number> here, and nothing else.');
    }
    const number = (numbers[0] ?? verb).text.trim();
    if (number === '') throw new InstructionError(12100, '<Dial> needs a number.');
    const { status, seconds } = await deps.dial(
      {
        number,
        ringSeconds: secondsOf(verb, 'timeout', DIAL_RING_SECONDS),
        limitSeconds: secondsOf(verb, 'timeLimit', MAX_SECONDS),
        ...answerCallback(numbers[0], source),
      },
      signal,
    );
    signal.throwIfAborted();
    const action = verb.attributes['action'];
    if (action === undefined) return undefined;
    const extra = { DialCallStatus: status, DialCallDuration: String(seconds) };
    return { next: { kind: 'url', target: target(action, verb.attributes['method'], source), extra } };
  }

  return {
    async run(first, signal) {
      let source: TwimlSource | undefined = first;
      try {
        for (let documents = 0; source !== undefined; documents++) {
          if (documents >= MAX_DOCUMENTS) throw new InstructionError(12100, 'The call was redirected without end.');
          const verbs = await instructions(source);
          const current: TwimlSource = source;
          source = undefined;
          for (const verb of verbs) {
            signal.throwIfAborted();
            const step: Step = await perform(verb, current, signal);
            if (step === undefined) continue;
            if ('end' in step) return step.end;
            source = step.next;
            break;
          }
        }
        return 'done';
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof InstructionError)) throw error;
        noteError(call, error.code, error.message);
        return 'failed';
      }
    },
  };
}

function target(url: string, method: string | undefined, source: TwimlSource): WebhookTarget {
  const base = source.kind === 'url' ? source.target.url : undefined;
  try {
    return { url: absolute(url, base), method: method?.toUpperCase() === 'GET' ? 'GET' : 'POST' };
  } catch {
    throw new InstructionError(12100, 'A verb names a URL that is none.');
  }
}

/** Whom `<Number>` wants told of its answer. Of its events this carrier knows no other. */
function answerCallback(number: TwimlElement | undefined, source: TwimlSource): Pick<DialVerb, 'onAnswer'> {
  const { statusCallback, statusCallbackEvent = '', statusCallbackMethod } = number?.attributes ?? {};
  if (statusCallback === undefined || !statusCallbackEvent.split(/\s+/).includes('answered')) return {};
  return { onAnswer: target(statusCallback, statusCallbackMethod, source) };
}

/** An absolute URL stays as it is written: its exact text is what will be signed. */
function absolute(url: string, base: string | undefined): string {
  const resolved = new URL(url === '' ? (base ?? '') : url, base);
  return /^https?:\/\//i.test(url) ? url : resolved.toString();
}

function secondsOf(verb: TwimlElement, attribute: string, standard: number): number {
  const seconds = Number(verb.attributes[attribute] ?? standard);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, MAX_SECONDS) : standard;
}
