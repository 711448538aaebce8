import { httpUrlOf } from '../../../start-checks/ask.js';
import type { TtsProvider } from '../../providers/description.js';
import { createElevenLabsCheck, createVoiceLookup } from './elevenlabs-check.js';
import { createElevenLabsTts } from './elevenlabs-tts.js';

/** ElevenLabs, or a server with its protocol. */
export const elevenLabs: TtsProvider<'elevenlabs'> = {
  name: 'elevenlabs',
  create: createElevenLabsTts,
  check: (account, asking, names) =>
    createElevenLabsCheck(asking)({ ...account, names, baseUrl: httpUrlOf(account.baseUrl) }),
  findVoice: (ask, { apiKey, baseUrl }, voiceId) =>
    createVoiceLookup(ask)({ apiKey, baseUrl: httpUrlOf(baseUrl), voiceId }),
};
