import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { createOfflineEngine } from '../../../src/voice/engines/offline/index.js';
import { describeEngineContract, type EngineHarness, type HarnessOptions } from './engine-contract';

/** Where silence is not what is tested: a busy machine must not look like a silent caller. */
const PATIENT = { promptAfterMs: 40_000, endAfterMs: 80_000 };

async function offlineHarness({ silence }: HarnessOptions): Promise<EngineHarness> {
  const callers = createSynthesizer();
  return {
    factory: createOfflineEngine({ timing: silence ?? PATIENT }),
    introduction: 'Hello. This is an automated assistant. Confirm the appointment.',
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
