import type { ConversationSettings } from '../../src/kernel/conversation/conversation-settings.js';
import {
  PIPELINE_STAGES,
  UNSUPPORTED,
  type PipelineStage,
  type SettingName,
  type SettingProtocol,
  type StageProtocols,
  type Support,
} from '../../src/kernel/conversation/settings-support.js';
import type { EngineName } from '../../src/kernel/conversation/engines.js';
import {
  LLM_PROVIDERS,
  PIPELINE_PROTOCOLS,
  SETTINGS_SUPPORT,
  STT_PROVIDERS,
  TTS_PROVIDERS,
  type ProviderEntry,
} from '../../src/platform/config/engines/engine-providers.js';
import { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';
import { EVERY_SETTING } from './conversation-settings.js';

/** An engine, or a protocol of the pipeline. The column `pipeline` has the settings that no stage decides. */
export type MatrixColumn = string;

/** One setting on one provider. */
export interface MatrixCell {
  /** For test names and tables: setting and column, such as `speech_speed on elevenlabs`. */
  key: string;
  setting: SettingName;
  /** The setting's public name. */
  field: keyof typeof EVERY_SETTING;
  column: MatrixColumn;
  engine: EngineName;
  /** The stage that decides, for the columns of providers of the pipeline. */
  stage?: PipelineStage;
  support: Support;
  /** A value that every provider accepts that supports the setting. */
  value: unknown;
  /** The setting alone, with this value. */
  settings: ConversationSettings;
}

/** All cells of the matrix of settings and providers, from the table of the service. */
export const SETTINGS_MATRIX: readonly MatrixCell[] = Object.entries(CONVERSATION_FIELDS).flatMap(
  ([name, { stored }]) => {
    const field = name as keyof typeof EVERY_SETTING;
    const { pipeline, ...engines } = SETTINGS_SUPPORT[stored];
    const cell = (column: MatrixColumn, engine: EngineName, support: Support, stage?: PipelineStage): MatrixCell => ({
      key: `${field} on ${column}`,
      setting: stored,
      field,
      column,
      engine,
      ...(stage && { stage }),
      support,
      value: EVERY_SETTING[field],
      settings: { [stored]: EVERY_SETTING[field] },
    });
    return [
      cell('openai-realtime', 'openai-realtime', engines['openai-realtime']),
      cell('offline-demo', 'offline-demo', engines['offline-demo']),
      ...('stage' in pipeline
        ? PIPELINE_PROTOCOLS[pipeline.stage].map(({ name: protocol, supports }) =>
            cell(protocol, 'pipeline', supports[stored] ?? UNSUPPORTED, pipeline.stage),
          )
        : [cell('pipeline', 'pipeline', pipeline)]),
    ];
  },
);

/** The cells where the setting is sent to the provider, done by our session, or not supported. */
export function matrixCells(done: Support['done']): MatrixCell[] {
  return SETTINGS_MATRIX.filter(({ support }) => support.done === done);
}

/** A pipeline that uses the protocol of a column, and the first protocols of the other stages. */
export function pipelineWith(column: MatrixColumn): StageProtocols {
  const choose = (stage: PipelineStage): SettingProtocol => {
    const [first, ...more] = PIPELINE_PROTOCOLS[stage];
    const chosen = more.find(({ name }) => name === column) ?? first;
    if (chosen === undefined) throw new Error(`${stage} has no protocols`);
    return chosen;
  };
  return Object.fromEntries(PIPELINE_STAGES.map((stage) => [stage, choose(stage)])) as Record<
    PipelineStage,
    SettingProtocol
  >;
}

/** The environment variables that configure all engines, the pipeline with the protocol of a column. */
export function environmentWith(column: MatrixColumn): Record<string, string> {
  const used = pipelineWith(column);
  return {
    OPENAI_API_KEY: 'test-key',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    ...variablesOf('stt', used.stt, STT_PROVIDERS),
    ...variablesOf('llm', used.llm, LLM_PROVIDERS),
    ...variablesOf('tts', used.tts, TTS_PROVIDERS),
    TTS_VOICES: 'amber=someVoice',
  };
}

function variablesOf(
  stage: PipelineStage,
  used: SettingProtocol,
  providers: Record<string, ProviderEntry>,
): Record<string, string> {
  const found = Object.entries(providers).find(([, { protocols }]) => protocols.some(({ name }) => name === used.name));
  if (found === undefined) throw new Error(`no provider has the protocol ${used.name}`);
  const [provider, { key, baseUrl, model }] = found;
  const name = stage.toUpperCase();
  return {
    [`${name}_PROVIDER`]: provider,
    [key]: 'test-key',
    [`${name}_BASE_URL`]: baseUrl.startsWith('wss:') ? 'ws://127.0.0.1:9' : 'http://127.0.0.1:9/v1',
    [`${name}_MODEL`]: used.name === 'deepgram-flux' ? 'flux-general-en' : (model ?? 'some-model'),
  };
}
