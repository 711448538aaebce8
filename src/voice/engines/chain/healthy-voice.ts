import { healthOfCall, settingsFor, type PipelineProviders } from './pipeline-chains.js';
import { recordFault, type Provider } from './provider-chain.js';
import type { TextToSpeech } from '../pipeline/ports.js';
import type { VoiceOfPhrases } from '../pipeline/prepared-phrases.js';

/**
 * TTS for audio that is used by later calls: the first healthy provider. These requests belong to no account, so they leave a
 * provider that fails for them, and move no calls.
 */
export function healthyVoice({ tts, health }: Pick<PipelineProviders, 'tts' | 'health'>): VoiceOfPhrases {
  const chosen = () => tts.find((provider) => !health.isOpen(provider)) ?? tts[0];
  function openWith(provider: Provider<TextToSpeech>, port: TextToSpeech): Pick<TextToSpeech, 'open'> {
    return {
      open(options, events) {
        const { settings } = options;
        const own = healthOfCall(health, { callId: '', ...(settings && { settings }) });
        return port.open(
          { ...options, settings: settingsFor(provider, settings) },
          {
            ...events,
            onDone() {
              own.record(provider, 'succeeded');
              events.onDone();
            },
            onLost(error) {
              recordFault(own, provider, error);
              events.onLost(error);
            },
          },
        );
      },
    };
  }
  return {
    number: () => chosen().number,
    open: (options, events) => openWith(chosen(), chosen().port).open(options, events),
    forCall() {
      const provider = chosen();
      const connection = provider.port.forCall?.();
      return { ...openWith(provider, connection ?? provider.port), close: () => connection?.close() };
    },
  };
}
