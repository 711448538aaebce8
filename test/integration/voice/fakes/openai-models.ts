// The rules by which OpenAI accepts or rejects models. The names are those of the types of the npm package `openai`
// 7.57.0 (ChatModel, RealtimeSessionCreateRequest.model, AudioTranscription.model); each rule names its source.

import type { OpenAiRejection } from './openai-errors';
import { messagesFault, toolsFault } from './openai-tools';

const CHAT_MODELS =
  /^(gpt-6-astra|gpt-6\.1-(sol|terra)|gpt-6-(sol|luna)|gpt-5\.6-(sol|terra|luna)|gpt-5\.5|gpt-5\.4(-mini|-nano)?|gpt-5\.[12]|gpt-5(-mini|-nano)?|gpt-4\.1(-mini|-nano)?|o[34]-mini|o[13]|gpt-4o(-mini)?|gpt-4-turbo|gpt-4|gpt-3\.5-turbo)$/;
const NEVER_REASON = /^gpt-(3|4)/;
/** https://developers.openai.com/api/docs/models/gpt-6-luna; tests of the API in BerriAI/litellm pull request 34569. */
const REASON_BY_DEFAULT = /^gpt-(5\.6|6)/;
/** OpenAI rejects `reasoning_effort: none` for this model (tried with the API in BerriAI/litellm-docs pull request 1173). */
const ALWAYS_REASONS = 'gpt-6-astra';

const REALTIME_MODELS = /^gpt-realtime(-1\.5|-2|-2\.1|-2\.1-mini|-mini)?$/;
const TRANSCRIPTION_MODELS =
  /^(whisper-1|gpt-transcribe|gpt-live-transcribe|gpt-4o(-mini)?-transcribe|gpt-4o-transcribe-diarize|gpt-realtime-whisper)$/;
/** "Supported by `gpt-transcribe` and `gpt-live-transcribe`": AudioTranscription in `openai` 7.57.0. */
const TAKES_LANGUAGES = /^gpt-(live-)?transcribe$/;

const invalid = (message: string, param: string | null, code: string | null = null, status = 400) => ({
  status,
  error: { message, type: 'invalid_request_error', param, code },
});

/** Returns the error of a request to a language model that does not exist: ksred/GitPilotAI issue 12 and others. */
export function modelFault(model: string): OpenAiRejection | undefined {
  if (CHAT_MODELS.test(model)) return undefined;
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return invalid(message, null, 'model_not_found', 404);
}

/** Returns the error with which OpenAI answers a request to `/chat/completions`; undefined if the request is valid. */
export function chatRejection(body: Record<string, unknown>): OpenAiRejection | undefined {
  const model = String(body['model']);
  const effort = body['reasoning_effort'] as string | undefined;
  const unknown = modelFault(model);
  if (unknown !== undefined) return unknown;
  const wrongTemperature = temperatureRejection(model, body['temperature'], effort);
  if (wrongTemperature !== undefined) return wrongTemperature;
  const tools = body['tools'] as { function?: object }[] | undefined;
  const fault =
    toolsFault(
      (tools ?? []).map((tool) => tool.function),
      '.function',
    ) ?? messagesFault((body['messages'] ?? []) as Parameters<typeof messagesFault>[0]);
  if (fault !== undefined) return fault;
  if (NEVER_REASON.test(model)) {
    // AAswordman/Operit issue 1048: also rejected with the value `none`.
    if (effort === undefined) return undefined;
    return invalid('Unrecognized request argument supplied: reasoning_effort', null);
  }
  if ('max_tokens' in body) {
    const message = `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`;
    return invalid(message, 'max_tokens', 'unsupported_parameter');
  }
  return REASON_BY_DEFAULT.test(model) ? effortRejection(model, effort, 'tools' in body) : undefined;
}

/**
 * Models that reason accept another temperature than 1 only without reasoning, and older ones never. The message is that of
 * diffbot/code-gpt-docs issue 445; range by `ChatCompletionCreateParams` of the npm package `openai` 7.57.0.
 */
export function temperatureRejection(model: string, value: unknown, effort?: string): OpenAiRejection | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || value < 0 || value > 2)
    return invalid(`Invalid 'temperature': ${JSON.stringify(value)}.`, 'temperature', 'invalid_value');
  if (NEVER_REASON.test(model) || value === 1) return undefined;
  const isWithoutReasoning = effort === 'none' && !/^(o\d|gpt-5($|-))/.test(model);
  if (isWithoutReasoning) return undefined;
  const message = `Unsupported value: 'temperature' does not support ${value} with this model. Only the default (1) value is supported.`;
  return invalid(message, 'temperature', 'unsupported_value');
}

function effortRejection(model: string, effort: string | undefined, hasTools: boolean): OpenAiRejection | undefined {
  const efforts = ['none', 'low', 'medium', 'high', 'xhigh', 'max'].filter(
    (name) => model !== ALWAYS_REASONS || !['none', 'max'].includes(name),
  );
  if (effort !== undefined && !efforts.includes(effort)) {
    // experientiallabs/experiential issue 764.
    const message = `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: ${efforts.map((name) => `'${name}'`).join(', ')}.`;
    return invalid(message, 'reasoning_effort', 'unsupported_value');
  }
  if (!hasTools || effort === 'none') return undefined;
  // GEMISIS/leviath issue 333; for gpt-6-sol, onyx-dot-app/onyx issue 15008. Without the field the answer is the same.
  const message = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
  return invalid(message, 'reasoning_effort');
}

/** Returns the error of a realtime connection to a model that is not a realtime model: livekit/agents-js issue 1756. */
export function realtimeModelFault(model: string): { code: string; message: string } | undefined {
  if (REALTIME_MODELS.test(model)) return undefined;
  return { code: 'invalid_model', message: `Model "${model}" is not supported in realtime mode.` };
}

export interface TranscriptionSettings {
  model?: string;
  language?: string;
  languages?: string[];
  keywords?: string[];
  prompt?: string;
}

/** Returns the error of a session update whose settings of the transcription OpenAI does not accept. */
export function transcriptionFault(
  { model = '', language, languages, keywords, prompt }: TranscriptionSettings,
  detectsTurns: boolean,
): { code: string; message: string; param: string } | undefined {
  const path = 'session.audio.input.transcription';
  const fault = (name: string, message: string) => ({ code: 'invalid_value', message, param: `${path}.${name}` });
  if (!TRANSCRIPTION_MODELS.test(model)) return fault('model', `Invalid value: '${model}'.`);
  // Comments of `AudioTranscription.keywords` and `prompt`.
  if (keywords !== undefined && !TAKES_LANGUAGES.test(model)) return fault('keywords', 'Keywords are not supported.');
  if (prompt !== undefined && /diarize|realtime-whisper/.test(model)) return fault('prompt', 'Not supported.');
  // OpenAI's guide to gpt-transcribe replaces `language` by `languages`:
  // https://developers.openai.com/cookbook/examples/migrating_from_whisper_to_gpt_transcribe
  if (language !== undefined && TAKES_LANGUAGES.test(model)) return fault('language', 'Use languages instead.');
  if (languages !== undefined && !TAKES_LANGUAGES.test(model)) return fault('languages', 'Use language instead.');
  // "The API rejects regional tags such as en-US": livekit/agents pull request 6705.
  const wrong = [...(languages ?? []), language ?? 'en'].find((tag) => !/^[a-z]{2}$/.test(tag));
  if (wrong !== undefined) return fault('language', `Invalid language: '${wrong}'.`);
  // "gpt-live-transcribe rejects any turn_detection config": livekit/agents pull request 6705.
  if (model === 'gpt-live-transcribe' && detectsTurns) {
    return fault('model', `Turn detection is not supported with transcription model '${model}'.`);
  }
  return undefined;
}
