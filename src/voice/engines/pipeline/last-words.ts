import type { Phrases } from './phrases.js';
import type { ProviderPart } from './ports.js';
import type { Speech } from './speech.js';

type LastLine = 'sorry' | 'silentGoodbye';

/** The last line of a call that is ended without the model. `then` follows when it was heard, or cannot be. */
export function createLastWords(p: {
  speech: Speech;
  phrases: Phrases;
  prepared(line: LastLine): Promise<Uint8Array | undefined>;
  onBegin(): void;
  isStopped(): boolean;
}) {
  let said = false;

  function byVoice(line: LastLine, then: () => void, otherwise: () => void): void {
    let failed = false;
    p.speech.say(p.phrases[line], {
      onFailed() {
        failed = true;
        otherwise();
      },
      onEnded: () => failed || p.isStopped() || then(),
    });
  }

  async function byPrepared(line: LastLine, then: () => void, otherwise: () => void): Promise<void> {
    const audio = await p.prepared(line);
    if (p.isStopped()) return;
    if (audio === undefined) otherwise();
    else p.speech.sayPrepared(p.phrases[line], audio, () => p.isStopped() || then());
  }

  return {
    /** Parts for no reason of the provider's. */
    part(then: () => void): void {
      if (!begin()) return;
      byVoice('silentGoodbye', then, () => void byPrepared('silentGoodbye', then, then));
    },
    /** @param gone the provider that has failed; nothing is asked of a voice that is the one */
    apologise(gone: ProviderPart, then: () => void): void {
      if (!begin()) return;
      void byPrepared('sorry', then, () => (gone === 'voice' ? then() : byVoice('sorry', then, then)));
    },
  };

  function begin(): boolean {
    if (said || p.isStopped()) return false;
    said = true;
    p.onBegin();
    return true;
  }
}
