import type { ConversationSettings } from '../../src/kernel/conversation/conversation-settings.js';
import {
  PIPELINE_PROVIDERS,
  SETTINGS_SUPPORT,
  type PipelineStage,
  type SettingName,
  type SettingProvider,
  type StageProviders,
  type Support,
} from '../../src/kernel/conversation/settings-support.js';
import type { EngineName } from '../../src/kernel/conversation/engines.js';
import { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';
import { EVERY_SETTING } from './conversation-settings.js';

/** The column `pipeline` has the settings that no stage decides. */
export type MatrixColumn = SettingProvider | 'pipeline';

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

const STAGES = Object.keys(PIPELINE_PROVIDERS) as PipelineStage[];

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
        ? Object.entries(pipeline).flatMap(([provider, support]) =>
            typeof support === 'string'
              ? []
              : [cell(provider as MatrixColumn, 'pipeline', support as Support, pipeline.stage)],
          )
        : [cell('pipeline', 'pipeline', pipeline)]),
    ];
  },
);

/** The cells where the setting is sent to the provider, done by our session, or not supported. */
export function matrixCells(done: Support['done']): MatrixCell[] {
  return SETTINGS_MATRIX.filter(({ support }) => support.done === done);
}

/** A pipeline that uses the provider of a column, and the first providers of the other stages. */
export function pipelineWith(column: MatrixColumn): StageProviders {
  const choose = (stage: PipelineStage) =>
    PIPELINE_PROVIDERS[stage].find((name) => name === column) ?? PIPELINE_PROVIDERS[stage][0];
  return Object.fromEntries(STAGES.map((stage) => [stage, choose(stage)])) as StageProviders;
}

/** The environment variables that configure all engines, the pipeline with the provider of a column. */
export function environmentWith(column: MatrixColumn): Record<string, string> {
  const { stt, llm, tts } = pipelineWith(column);
  return {
    OPENAI_API_KEY: 'test-key',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    ...(stt === 'openai-transcription'
      ? { STT_PROVIDER: 'openai', STT_API_KEY: 'test-key', STT_BASE_URL: 'http://127.0.0.1:9/v1' }
      : {
          DEEPGRAM_API_KEY: 'test-key',
          STT_BASE_URL: 'ws://127.0.0.1:9',
          STT_MODEL: stt === 'deepgram-flux' ? 'flux-general-en' : 'nova-3',
        }),
    LLM_PROVIDER: llm === 'openai-chat' ? 'openai' : llm,
    LLM_API_KEY: 'test-key',
    LLM_BASE_URL: 'http://127.0.0.1:9/v1',
    ...(tts === 'elevenlabs'
      ? { ELEVENLABS_API_KEY: 'test-key', TTS_BASE_URL: 'ws://127.0.0.1:9', TTS_VOICES: 'amber=someVoice' }
      : {
          TTS_PROVIDER: 'openai',
          TTS_API_KEY: 'test-key',
          TTS_BASE_URL: 'http://127.0.0.1:9/v1',
          TTS_MODEL: 'some-model',
        }),
  };
}
