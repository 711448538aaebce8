import type { ServerEvent } from './protocol.js';

/** An error that the provider reports. */
export type ProviderFault = Extract<ServerEvent, { type: 'error' }>['error'];

export type CallerTranscription = ReturnType<typeof createCallerTranscription>;

/** Decides whether the provider is asked to transcribe the caller. A conversation is possible without it. */
export function createCallerTranscription({ transcriptionModel }: { transcriptionModel: string }) {
  let isOn = true;
  return {
    isOn: () => isOn,

    /** Turns transcription off if a session was rejected because of it. @returns whether it was turned off */
    endAfter({ param, message }: ProviderFault): boolean {
      const texts = [param ?? '', message ?? ''];
      const isCause = texts.some((text) => text.includes('transcription') || text.includes(transcriptionModel));
      const ends = isOn && isCause;
      if (ends) isOn = false;
      return ends;
    },
  };
}
