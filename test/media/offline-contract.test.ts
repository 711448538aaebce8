import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { describeEngineContract, type EngineHarness, type HarnessOptions } from './engine-contract';

async function offlineHarness({ silence }: HarnessOptions): Promise<EngineHarness> {
  const callers = createSynthesizer();
  return {
    factory: createOfflineEngine(silence === undefined ? {} : { timing: silence }),
    greeting: /This is an automated assistant/,
    call: { outputTemplate: { confirmed: false, note: null } },
    speak: (text) => callers.speak(text, 'rms'),
    // It understands answers to its questions, and goodbye.
    linesToGoodbye: [{ hears: 'Yes.' }, { hears: 'Goodbye.' }],
    keys: '1#',
    close: () => callers.close(),
  };
}

describeEngineContract('the offline engine', offlineHarness);
