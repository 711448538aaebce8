import type { ConversationSettings } from '../../src/kernel/conversation/conversation-settings.js';
import { withAllowedModels } from '../../src/voice/engines/allowed-models.js';
import type { EngineResult, EngineSink } from '../../src/voice/engines/port.js';
import { createScriptedEngine } from '../integration/voice/support/scripted-engine';
import { CALL } from '../support/engine-line';

const RESULT: Partial<EngineResult> = { ignoredSettings: ['keyterms'] };

/** Holds a call of an agent. @returns the settings that the engine got, and those that its result calls ignored */
async function hold(settings: ConversationSettings | undefined, allowed: 'any' | readonly string[]) {
  const { factory, calls } = createScriptedEngine();
  const engine = withAllowedModels(factory, allowed).create();
  await engine.start({ ...CALL, ...(settings === undefined ? {} : { settings }) }, {} as EngineSink);
  const call = calls.get(CALL.callId);
  if (call === undefined) throw new Error('the engine was not started');
  call.result = RESULT;
  expect(engine.onAnsweredBy?.('human')).toBe(true);
  const { ignoredSettings } = await engine.stop('carrier_stop');
  return { settings: call.call.settings, ignoredSettings };
}

describe('the model of a stored agent', () => {
  it('is used if the operator allows it', async () => {
    const settings = { model: 'gpt-6-luna', temperature: 0.4 };
    for (const allowed of ['any', ['gpt-6-luna']] as const)
      expect(await hold(settings, allowed)).toEqual({ settings, ignoredSettings: ['keyterms'] });
    expect(await hold(undefined, ['gpt-6-luna'])).toEqual({ settings: undefined, ignoredSettings: ['keyterms'] });
  });

  it('is ignored if the operator has forbidden it since, and the result says so', async () => {
    expect(await hold({ model: 'gpt-6-sol', temperature: 0.4 }, ['gpt-6-luna'])).toEqual({
      settings: { temperature: 0.4 },
      ignoredSettings: ['keyterms', 'model'],
    });
  });
});
