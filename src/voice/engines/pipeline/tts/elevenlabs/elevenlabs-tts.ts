import { withoutTrailing } from '../../../../../kernel/text.js';
import { clampSetting } from '../../../ignored-settings.js';
import type { CallTts, TextToSpeech, TtsOptions } from '../../ports.js';
import { TTS_TIMEOUT_MS } from '../tts-timeout.js';
import { openContextStream } from './context-stream.js';
import { openSpeechSocket, type SpeechSocket } from './speech-socket.js';

export interface ElevenLabsAccount {
  /** `wss://…` of ElevenLabs or of a compatible server. */
  baseUrl: string;
  apiKey: string;
  model: string;
  /** The provider's id for a voice. */
  voiceIdOf(voice: string): string;
}

/** `RealtimeVoiceSettings.speed` in `@elevenlabs/elevenlabs-js` 2.73.0: from 0.7 to 1.2. */
const SPEED = [0.7, 1.2] as const;

/** After this time without a message the provider closes a context, in seconds; 180 is the maximum. */
const INACTIVITY_TIMEOUT_S = 180;

/**
 * TTS with ElevenLabs' `multi-stream-input`: one socket per call, with a context for each utterance; text sentence by
 * sentence, audio as mu-law.
 */
export function createElevenLabsTts(account: ElevenLabsAccount, options: { timeoutMs?: number } = {}): TextToSpeech {
  const forCall = () => createCallTts(account, options.timeoutMs ?? TTS_TIMEOUT_MS);
  return {
    forCall,
    open(utterance, events) {
      const call = forCall();
      const stream = call.open(utterance, {
        ...events,
        onDone() {
          call.close();
          events.onDone();
        },
        onLost(error) {
          call.close();
          events.onLost(error);
        },
      });
      return {
        ...stream,
        cancel() {
          stream.cancel();
          call.close();
        },
      };
    },
  };
}

function createCallTts(account: ElevenLabsAccount, timeoutMs: number): CallTts {
  const sockets = new Set<SpeechSocket>();
  /** The socket for new utterances, by its address, which names the voice. */
  const current = new Map<string, SpeechSocket>();
  let utterances = 0;

  /** If all contexts of a socket are in use, another one replaces it; the provider would close a socket with more. */
  function socketAt(url: string): SpeechSocket {
    const known = current.get(url);
    if (known?.hasRoom() === true) return known;
    known?.retire();
    const socket = openSpeechSocket({ url, apiKey: account.apiKey });
    sockets.add(socket);
    current.set(url, socket);
    return socket;
  }

  return {
    open(options, events) {
      const url = buildUrl(account, options);
      utterances += 1;
      return openContextStream({
        id: `u${utterances}`,
        socket: () => socketAt(url),
        speed: clampSetting('speechSpeed', SPEED, options),
        timeoutMs,
        events,
      });
    },
    close: () => sockets.forEach((socket) => socket.close()),
  };
}

function buildUrl(account: ElevenLabsAccount, { voice, language, settings }: TtsOptions): string {
  const voiceId = settings.voiceId ?? account.voiceIdOf(voice);
  const path = `/v1/text-to-speech/${encodeURIComponent(voiceId)}/multi-stream-input`;
  const url = new URL(withoutTrailing(account.baseUrl, '/') + path);
  url.searchParams.set('model_id', account.model);
  url.searchParams.set('output_format', 'ulaw_8000');
  url.searchParams.set('auto_mode', 'true');
  url.searchParams.set('inactivity_timeout', String(INACTIVITY_TIMEOUT_S));
  // Without this, some audio comes without its characters.
  url.searchParams.set('sync_alignment', 'true');
  // Only the 2.5 models accept a language; the others detect it from the text.
  if (account.model.includes('v2_5')) url.searchParams.set('language_code', language.split('-')[0] ?? language);
  return url.href;
}
