import { isFluxModel } from '../../../../platform/config/setting-providers.js';
import type { SpeechToText } from '../ports.js';
import type { DeepgramAccount } from './deepgram-account.js';
import { createFluxStt } from './deepgram-flux.js';
import { createNovaStt } from './deepgram-nova.js';

/** Creates STT for an account, by the name of its model. */
export function createDeepgramStt(account: DeepgramAccount): SpeechToText {
  return isFluxModel(account.model) ? createFluxStt(account) : createNovaStt(account);
}
