import type { SpeechToText } from '../ports.js';
import type { DeepgramAccount } from './deepgram-account.js';
import { createFluxRecogniser } from './deepgram-flux.js';
import { createNovaRecogniser } from './deepgram-nova.js';

/** Creates STT for an account, by the name of its model. */
export function createDeepgramRecogniser(account: DeepgramAccount): SpeechToText {
  return account.model.startsWith('flux') ? createFluxRecogniser(account) : createNovaRecogniser(account);
}
