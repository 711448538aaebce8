import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertSettingsSupported } from '../../src/agents/fields/settings-rules.js';
import { CONVERSATION_FIELDS } from '../../src/agents/fields/conversation-fields.js';
import type { ConversationSettings } from '../../src/kernel/conversation/conversation-settings.js';
import { ENGINE_NAMES } from '../../src/kernel/conversation/engines.js';
import { faultsOfSettings, splitSettings } from '../../src/agents/fields/supported-settings.js';
import type { SettingName } from '../../src/kernel/conversation/settings-support.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { ROOT } from '../structure/sources.js';
import { PIPELINE_PROTOCOLS, SETTINGS_SUPPORT } from '../../src/platform/config/engines/engine-providers.js';
import { stageProtocolsOf } from '../../src/platform/config/engines/pipeline-settings.js';
import {
  environmentWith,
  pipelineWith,
  SETTINGS_MATRIX,
  type MatrixColumn,
  matrixCells,
} from '../support/settings-matrix.js';

const nameOf = ({ name }: { name: string }) => name;
const configWith = (column: MatrixColumn) => parseConfig(environmentWith(column));

describe('the matrix of settings and providers', () => {
  it('has a cell for every setting on every engine, and on every provider of the stage that decides', () => {
    const settings = Object.keys(SETTINGS_SUPPORT) as SettingName[];
    const stored = Object.values(CONVERSATION_FIELDS).map((field) => field.stored);
    expect(settings.toSorted()).toEqual(stored.toSorted());
    for (const setting of settings) {
      const cells = SETTINGS_MATRIX.filter((cell) => cell.setting === setting);
      const { pipeline } = SETTINGS_SUPPORT[setting];
      const ofPipeline = 'stage' in pipeline ? PIPELINE_PROTOCOLS[pipeline.stage].map(nameOf) : ['pipeline'];
      const columns = ['openai-realtime', 'offline-demo', ...ofPipeline];
      expect([setting, cells.map(({ column }) => column).toSorted()]).toEqual([setting, columns.toSorted()]);
      expect(new Set(cells.map(({ engine }) => engine))).toEqual(new Set(ENGINE_NAMES));
    }
    expect(new Set(SETTINGS_MATRIX.map(({ key }) => key)).size).toBe(SETTINGS_MATRIX.length);
  });

  it('has at least one supporter of every setting', () => {
    const supported = [...matrixCells('sent'), ...matrixCells('session')].map(({ setting }) => setting);
    expect(new Set(supported)).toEqual(new Set(Object.keys(SETTINGS_SUPPORT)));
  });

  it.each(Object.values(PIPELINE_PROTOCOLS).flat().map(nameOf))(
    'knows from the configuration that the pipeline uses %s',
    (name) => {
      const { pipeline } = configWith(name).engines;
      expect(stageProtocolsOf(pipeline ?? fail())).toEqual(pipelineWith(name));
    },
  );
});

describe('the table of settings in docs/engines.md', () => {
  it('names every setting once, and says no where no provider of the engine supports it', () => {
    const rows = readFileSync(join(ROOT, 'docs/engines.md'), 'utf8')
      .split('\n## Settings of agents')[1]
      ?.split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    const documented = (rows ?? []).flatMap(([, names = '', realtime, pipeline, demo]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, field]) => [
        field,
        { 'openai-realtime': realtime !== 'no', pipeline: pipeline !== 'no', 'offline-demo': demo !== 'no' },
      ]),
    );
    const isSupported = (field: string, engine: string) =>
      SETTINGS_MATRIX.some(
        (cell) => cell.field === field && cell.engine === engine && cell.support.done !== 'unsupported',
      );
    const actual = Object.keys(CONVERSATION_FIELDS).map((field) => [
      field,
      Object.fromEntries(ENGINE_NAMES.map((engine) => [engine, isSupported(field, engine)])),
    ]);
    expect(documented).toHaveLength(actual.length);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(actual));
  });
});

describe('a setting', () => {
  it.each(matrixCells('unsupported').map((cell) => [cell.key, cell] as const))('%s is rejected', (_, cell) => {
    const save = () => assertSettingsSupported({ engine: cell.engine, ...cell.settings }, configWith(cell.column));
    const sentence = new RegExp(`^${cell.field}: ${cell.engine}.* does not support it; remove the setting, or use`);
    expect(save).toThrow(
      expect.objectContaining({
        code: 'MISSING_PARAMS',
        message: expect.stringMatching(sentence),
        details: { fields: { [cell.field]: expect.stringMatching(sentence) } },
      }) as Error,
    );
  });

  it.each([...matrixCells('sent'), ...matrixCells('session')].map((cell) => [cell.key, cell] as const))(
    '%s is accepted',
    (_, cell) => {
      const save = () => assertSettingsSupported({ engine: cell.engine, ...cell.settings }, configWith(cell.column));
      expect(save).not.toThrow();
    },
  );

  it.each<[MatrixColumn, ConversationSettings, string]>([
    ['elevenlabs', { speechSpeed: 0.6 }, 'speech_speed: pipeline with elevenlabs accepts only 0.7 to 1.2.'],
    ['elevenlabs', { speechSpeed: 1.3 }, 'speech_speed: pipeline with elevenlabs accepts only 0.7 to 1.2.'],
    ['openai-realtime', { speechSpeed: 1.6 }, 'speech_speed: openai-realtime accepts at most 1.5.'],
    [
      'openai-realtime',
      { reasoningEffort: 'none' },
      'reasoning_effort: openai-realtime accepts only minimal, low, medium, high, xhigh.',
    ],
    [
      'deepgram-flux',
      { endOfTurnSilenceMs: 300 },
      'end_of_turn_silence_ms: pipeline with deepgram-flux accepts at least 500.',
    ],
    [
      'deepgram-nova',
      { keyterms: Array.from({ length: 21 }, () => 'a'.repeat(50)) },
      'keyterms: pipeline with deepgram-nova accepts at most 1000 bytes in UTF-8 for all together.',
    ],
    [
      'openai-realtime',
      { endOfTurnEagerness: 'low', vadThreshold: 0.5 },
      'end_of_turn_eagerness: openai-realtime ends a turn by meaning or by silence; remove this setting, or those of silence and voice detection.',
    ],
  ])('is rejected outside the limits of %s: %j', (column, settings, message) => {
    const engine = column === 'openai-realtime' ? column : 'pipeline';
    expect(() => assertSettingsSupported({ engine, ...settings }, configWith(column))).toThrow(message);
  });

  it('is checked against the default engine of the service, and not without its configuration', () => {
    const config = parseConfig({ ...environmentWith('pipeline'), ENGINE: 'openai-realtime' });
    expect(() => assertSettingsSupported({ temperature: 1 }, config)).toThrow('temperature: openai-realtime does not');
    assertSettingsSupported({ temperature: 1 }, undefined);
    assertSettingsSupported({ temperature: 1, engine: 'steam-organ' }, config);
  });

  it('model may be any on the simulated carrier in development; otherwise it must be configured or allowed', () => {
    const config = configWith('openai-realtime');
    const real = { ...config.carriers, live: { ...config.carriers.live, isSimulated: false } };
    const save = (engine: string, model: string, agentModels?: 'any' | string[]) => () =>
      assertSettingsSupported(
        { engine, model },
        {
          production: false,
          engines: { ...config.engines, ...(agentModels && { agentModels }) },
          carriers: real as typeof config.carriers,
        },
      );
    expect(() => assertSettingsSupported({ engine: 'pipeline', model: 'gpt-6' }, config)).not.toThrow();
    // The prices of engines are the same for all models, and in production they limit what test calls cost.
    expect(() =>
      assertSettingsSupported({ engine: 'pipeline', model: 'gpt-6' }, { ...config, production: true }),
    ).toThrow('AGENT_MODELS');
    expect(save('pipeline', 'gpt-6-luna')).not.toThrow();
    expect(save('pipeline', 'gpt-6')).toThrow(
      'model: this service allows only gpt-6-luna with pipeline (see AGENT_MODELS).',
    );
    expect(save('openai-realtime', 'gpt-6-luna')).toThrow('model: this service allows only gpt-realtime-2.1 with');
    expect(save('openai-realtime', 'gpt-realtime-mini', ['gpt-realtime-mini'])).not.toThrow();
    expect(save('pipeline', 'gpt-6', 'any')).not.toThrow();
    expect(parseConfig({ AGENT_MODELS: 'a, b/c:1' }).engines.agentModels).toEqual(['a', 'b/c:1']);
    expect(parseConfig({ AGENT_MODELS: 'any' }).engines.agentModels).toBe('any');
    expect(() => parseConfig({ AGENT_MODELS: 'a b' })).toThrow('AGENT_MODELS');
  });

  it('that the provider no longer supports stays with an agent until it or the engine changes', () => {
    const config = configWith('pipeline');
    const present = { engine: 'openai-realtime', temperature: 1, endOfTurnEagerness: 'low', vadThreshold: 0.4 };
    assertSettingsSupported({ ...present, keyterms: ['a'] }, config, present);
    const save = (change: object) => () => assertSettingsSupported({ ...present, ...change }, config, present);
    expect(save({ temperature: 0.5 })).toThrow('temperature: openai-realtime does not');
    expect(save({ engine: 'offline-demo', temperature: null })).toThrow('vad_threshold: offline-demo does not');
    expect(save({ vadThreshold: 0.5 })).toThrow('end_of_turn_eagerness: openai-realtime ends a turn');
    save({ endOfTurnEagerness: null })();
  });

  it('that an engine does not support is left out of a call and named', () => {
    const settings: ConversationSettings = { temperature: 1, speechSpeed: 1.4, noiseReduction: 'far_field' };
    const protocols = pipelineWith('elevenlabs');
    expect(splitSettings(settings, { engine: 'pipeline', protocols })).toEqual({
      used: { temperature: 1 },
      ignored: ['speechSpeed', 'noiseReduction'],
    });
    expect(faultsOfSettings({}, { engine: 'offline-demo' })).toEqual([]);
  });
});

function fail(): never {
  throw new Error('the pipeline is not configured');
}
