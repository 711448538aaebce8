import { TTS_PROVIDERS } from '../../../../platform/config/engines/engine-providers.js';
import type { PipelineSettings } from '../../../../platform/config/engines/pipeline-settings.js';
import type { Asking } from '../../start-checks/ask.js';
import { unchecked, type ProviderFinding, type SettingNames } from '../../start-checks/finding.js';
import { checkOpenAiModel } from '../../start-checks/openai.js';
import type { ProviderError, TextToSpeech } from '../ports.js';

type SpeechSettings = Omit<PipelineSettings['tts'], 'provider'>;

const PHRASE = 'Hello.';

/**
 * Checks the model of `/audio/speech` and, on another server than OpenAI's, lets it speak one short phrase: such a server
 * may not have the path, the voice or the format, and then every call would be silent.
 */
export function createSpeechCheck(create: (settings: SpeechSettings, asking: Asking) => TextToSpeech) {
  return async (settings: SpeechSettings, asking: Asking, names: SettingNames): Promise<ProviderFinding[]> => {
    const findings = await checkOpenAiModel(settings, asking, names);
    const isOwn = settings.baseUrl === TTS_PROVIDERS.openai.baseUrl;
    if (isOwn || findings.some(({ kind }) => kind === 'fault')) return findings;
    const fault = await speakPhrase(create(settings, asking), asking.means.signal, voiceOf(settings));
    // Whether the server speaks says more about its address than whether it lists models.
    const others = findings.filter((finding) => finding.kind !== 'unchecked' || finding.setting !== names.url);
    return fault === undefined ? others : [...others, ...unchecked(names.url, fault)];
  };
}

function voiceOf({ voices }: SpeechSettings): string {
  return Object.keys(voices)[0] ?? '';
}

/** Returns why there was no audio; undefined if there was. */
async function speakPhrase(tts: TextToSpeech, signal: AbortSignal, voice: string): Promise<string | undefined> {
  if (signal.aborted) return 'no response in time';
  let stop: () => void = () => undefined;
  try {
    return await new Promise((resolve) => {
      const end = () => resolve('no audio in time');
      const stream = tts.open(
        { voice, language: 'en-US', settings: {} },
        {
          onAudio: () => resolve(undefined),
          onSpoken: () => undefined,
          onDone: () => resolve(undefined),
          onLost: (error) => resolve(reasonOf(error)),
        },
      );
      signal.addEventListener('abort', end, { once: true });
      stop = () => {
        signal.removeEventListener('abort', end);
        stream.cancel();
      };
      stream.say(PHRASE);
      stream.finish();
    });
  } finally {
    stop();
  }
}

function reasonOf({ message, report }: ProviderError): string {
  return report.message === undefined ? message : `${message}: ${report.message}`;
}
