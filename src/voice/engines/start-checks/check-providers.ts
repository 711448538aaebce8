import { Agent } from 'undici';
import type { Config } from '../../../platform/config/config.js';
import type { OpenAiRealtimeSettings } from '../../../platform/config/engines/engines.js';
import { entryOf } from '../../../platform/config/engines/engine-providers.js';
import type { PipelineSettings } from '../../../platform/config/engines/pipeline-settings.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { PipelineStage } from '../../../kernel/conversation/settings-support.js';
import type { VariableNames } from '../pipeline/providers/description.js';
import { PIPELINE_PROVIDERS } from '../pipeline/providers/list.js';
import { createAsk, type Asking } from './ask.js';
import type { ProviderFinding } from './finding.js';
import { createOpenAiCheck } from './openai.js';

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

/**
 * Asks the providers of the configured engines whether they accept the keys, models and voices, and adds the voices
 * that were found. A provider that cannot be asked is only a warning, because it may be available when a call needs it.
 * @throws Error that names every setting that a provider certainly rejects
 */
export async function withCheckedProviders(config: Config, deps: CheckDeps): Promise<Config> {
  const { openaiRealtime, pipeline } = config.engines;
  if (openaiRealtime === undefined && pipeline === undefined) return config;
  if (pipeline !== undefined) nameOtherServers(pipeline, deps.logger);
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
    return (await Promise.all(start({ ask, askLonger, means: { dispatcher, signal: quick.signal } }))).flat();
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

/** Says which servers calls use in place of the providers' own, so that a forgotten address is found. */
function nameOtherServers({ fallbacks, ...first }: PipelineSettings, logger: Logger): void {
  for (const stage of ['stt', 'llm', 'tts'] as const) {
    for (const [index, account] of [first[stage], ...(fallbacks?.[stage] ?? [])].entries()) {
      if (account.baseUrl === entryOf(stage, account.provider).baseUrl) continue;
      const { host } = new URL(account.baseUrl);
      logger.info(
        { setting: namesOf(stage, account, index).url, host },
        'calls use a server other than the provider’s own',
      );
    }
  }
}

function checksOfPipeline(
  { stt, llm, tts, fallbacks }: PipelineSettings,
  asking: Asking,
): Promise<ProviderFinding[]>[] {
  return [
    ...[stt, ...(fallbacks?.stt ?? [])].map((each, index) =>
      PIPELINE_PROVIDERS.stt[each.provider].check(each, asking, namesOf('stt', each, index)),
    ),
    ...[llm, ...(fallbacks?.llm ?? [])].map((each, index) =>
      PIPELINE_PROVIDERS.llm[each.provider].check(each, asking, namesOf('llm', each, index)),
    ),
    ...[tts, ...(fallbacks?.tts ?? [])].map((each, index) =>
      PIPELINE_PROVIDERS.tts[each.provider].check(each, asking, namesOf('tts', each, index)),
    ),
  ];
}

/** The names of a provider's variables. The key of a first provider is that of its entry. */
function namesOf(stage: PipelineStage, { provider }: { provider: string }, index: number): VariableNames {
  const name = stage.toUpperCase();
  const prefix = index === 0 ? name : `${name}_${index + 1}`;
  const key = index === 0 ? entryOf(stage, provider).key : `${prefix}_API_KEY`;
  return { key, url: `${prefix}_BASE_URL`, model: `${prefix}_MODEL`, voices: `${prefix}_VOICES` };
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
