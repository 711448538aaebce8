import { protocolOf } from '../../../../../platform/config/engines/engine-providers.js';
import { httpUrlOf } from '../../../start-checks/ask.js';
import type { SpeechToText } from '../../ports.js';
import type { SttProvider } from '../../providers/description.js';
import type { DeepgramAccount } from './deepgram-account.js';
import { createDeepgramCheck } from './deepgram-check.js';
import { createFluxStt } from './deepgram-flux.js';
import { createNovaStt } from './deepgram-nova.js';

/** Creates STT for an account, by the name of its model. */
export function createDeepgramStt(account: DeepgramAccount): SpeechToText {
  const { name } = protocolOf('stt', { ...account, provider: 'deepgram' });
  return name === 'deepgram-flux' ? createFluxStt(account) : createNovaStt(account);
}

/** Deepgram, or a server with its protocols. */
export const deepgram: SttProvider<'deepgram'> = {
  name: 'deepgram',
  create: (account) => createDeepgramStt(account),
  check: (account, { ask }, names) =>
    createDeepgramCheck(ask)({ ...account, names, baseUrl: httpUrlOf(account.baseUrl) }),
};
