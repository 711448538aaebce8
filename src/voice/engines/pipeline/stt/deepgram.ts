import type { SpeechToText } from '../ports.js';
import type { DeepgramAccount } from './deepgram-account.js';
import { createFluxStt } from './deepgram-flux.js';
import { createNovaStt } from './deepgram-nova.js';

/** Creates STT for an account, by the name of its model. */
export function createDeepgramStt(account: DeepgramAccount): SpeechToText {
  return account.model.startsWith('flux') ? createFluxStt(account) : createNovaStt(account);
}
