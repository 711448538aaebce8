import { Agent } from 'undici';
import type { Config } from '../../../platform/config/config.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/engines.js';
import type { PipelineSettings } from '../../../platform/config/pipeline-settings.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import { createAsk, type Ask } from './ask.js';
import { createDeepgramCheck } from './deepgram.js';
import { createElevenLabsCheck, type ElevenLabsSettings } from './elevenlabs.js';
import { createOpenAiCheck } from './openai.js';
import type { ProviderFinding } from './finding.js';

/** Limit of all checks together; they run at the same time. */
const CHECK_WITHIN_MS = 3_000;
/** Limit for the voices of an account, because the process cannot start without them. */
const FIND_VOICES_WITHIN_MS = 10_000;

interface CheckDeps {
  logger: Logger;
  /** Ends the checks when the process is stopped. */
  stop?: AbortSignal;
  /** Overridden only by tests. */
  withinMs?: { check: number; findVoices: number };
}

interface Asking {
  ask: Ask;
  askLonger: Ask;
}

/**
 * Asks the providers of the configured engines whether they accept the keys, models and voices, and adds the voices
 * that were found. A provider that cannot be asked is only a warning, because it may be available when a call needs it.
 * @throws Error that names every setting that a provider certainly rejects
 */
export async function withCheckedProviders(config: Config, deps: CheckDeps): Promise<Config> {
  const { openaiRealtime, pipeline } = config.engines;
  if (openaiRealtime === undefined && pipeline === undefined) return config;
  const findings = await askAll(deps, (asking) => [
    ...(openaiRealtime === undefined ? [] : checksOfRealtime(openaiRealtime, asking)),
    ...(pipeline === undefined ? [] : checksOfPipeline(pipeline, asking)),
  ]);
  deps.stop?.throwIfAborted();
  report(findings, deps.logger);
  const voices = findings.find((finding) => finding.kind === 'voices')?.voices;
  if (voices === undefined || pipeline === undefined) return config;
  deps.logger.info({ voices }, 'voices of the account chosen, because TTS_VOICES is not set');
  const tts = { ...pipeline.tts, voices };
  return { ...config, engines: { ...config.engines, pipeline: { ...pipeline, tts } } };
}

async function askAll(
  deps: CheckDeps,
  start: (asking: Asking) => Promise<ProviderFinding[]>[],
): Promise<ProviderFinding[]> {
  const { check, findVoices } = deps.withinMs ?? { check: CHECK_WITHIN_MS, findVoices: FIND_VOICES_WITHIN_MS };
  const dispatcher = new Agent();
  const quick = new AbortController();
  const slow = new AbortController();
  const abort = () => [quick, slow].forEach((controller) => controller.abort());
  const timers = [setTimeout(() => quick.abort(), check), setTimeout(() => slow.abort(), findVoices)];
  deps.stop?.addEventListener('abort', abort);
  if (deps.stop?.aborted) abort();
  try {
    const ask = createAsk({ dispatcher, signal: quick.signal });
    const askLonger = createAsk({ dispatcher, signal: slow.signal });
    return (await Promise.all(start({ ask, askLonger }))).flat();
  } finally {
    timers.forEach((timer) => clearTimeout(timer));
    deps.stop?.removeEventListener('abort', abort);
    await dispatcher.destroy();
  }
}

function checksOfRealtime(settings: OpenAiRealtimeSettings, { ask }: Asking): Promise<ProviderFinding[]>[] {
  const checkModel = createOpenAiCheck(ask);
  const { baseUrl, apiKey } = settings;
  const models = {
    OPENAI_REALTIME_MODEL: settings.model,
    OPENAI_TRANSCRIPTION_MODEL: settings.transcriptionModel,
    OPENAI_CONCLUSION_MODEL: settings.conclusionModel,
  };
  return Object.entries(models).map(([name, model]) =>
    checkModel({ baseUrl, apiKey, model, names: { key: 'OPENAI_API_KEY', url: 'OPENAI_BASE_URL', model: name } }),
  );
}

function checksOfPipeline(
  { stt, llm, tts, fallbacks }: PipelineSettings,
  asking: Asking,
): Promise<ProviderFinding[]>[] {
  const checkModel = createOpenAiCheck(asking.ask);
  return [
    ...[stt, ...(fallbacks?.stt ?? [])].map((each, index) =>
      STT_CHECKS[each.provider](each, asking, namesOf('STT', index, each.provider === 'deepgram' ? 'DEEPGRAM' : 'STT')),
    ),
    ...[llm, ...(fallbacks?.llm ?? [])].map((each, index) => checkModel({ ...each, names: namesOf('LLM', index) })),
    ...[tts, ...(fallbacks?.tts ?? [])].map((each, index) =>
      TTS_CHECKS[each.provider](
        each,
        asking,
        namesOf('TTS', index, each.provider === 'elevenlabs' ? 'ELEVENLABS' : 'TTS'),
      ),
    ),
  ];
}

type Names = ElevenLabsSettings['names'];

/** The names of a provider's variables. @param keyPrefix that of the first provider's key */
function namesOf(stage: 'STT' | 'LLM' | 'TTS', index: number, keyPrefix: string = stage): Names {
  const prefix = index === 0 ? stage : `${stage}_${index + 1}`;
  const key = `${index === 0 ? keyPrefix : prefix}_API_KEY`;
  return { key, url: `${prefix}_BASE_URL`, model: `${prefix}_MODEL`, voices: `${prefix}_VOICES` };
}

/** The checks of speech to text by the provider's name in `STT_PROVIDER`. */
const STT_CHECKS: Record<
  PipelineSettings['stt']['provider'],
  (stt: PipelineSettings['stt'], asking: Asking, names: Names) => Promise<ProviderFinding[]>
> = {
  deepgram: (stt, { ask }, names) => createDeepgramCheck(ask)({ ...stt, names, baseUrl: httpUrlOf(stt.baseUrl) }),
  openai: (stt, { ask }, names) => createOpenAiCheck(ask)({ ...stt, names }),
};

/** The checks of text to speech by the provider's name in `TTS_PROVIDER`. */
const TTS_CHECKS: Record<
  PipelineSettings['tts']['provider'],
  (tts: PipelineSettings['tts'], asking: Asking, names: Names) => Promise<ProviderFinding[]>
> = {
  elevenlabs: (tts, asking, names) => createElevenLabsCheck(asking)({ ...tts, names, baseUrl: httpUrlOf(tts.baseUrl) }),
  // `/audio/speech` has no list of voices.
  openai: (tts, { ask }, names) => createOpenAiCheck(ask)({ ...tts, names }),
};

/** The address of the HTTP interface that belongs to a WebSocket address. */
export function httpUrlOf(socketUrl: string): string {
  return socketUrl.replace(/^ws/, 'http');
}

/** @throws Error if there are faults */
function report(findings: readonly ProviderFinding[], logger: Logger): void {
  const faults = findings.flatMap((finding) => (finding.kind === 'fault' ? [finding.message] : []));
  if (faults.length > 0) throw new Error(`The configuration is invalid. ${[...new Set(faults)].join(' ')}`);
  // Several voices can have the same reason, so they share a line.
  const lines = new Map(findings.map((finding) => [JSON.stringify(finding), finding]));
  for (const finding of lines.values()) {
    const { kind, ...fields } = finding;
    if (kind === 'unchecked') logger.warn(fields, 'setting could not be checked with its provider');
    if (kind === 'retiring') logger.warn(fields, 'provider will withdraw the model or voice of a setting');
  }
}
