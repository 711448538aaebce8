import { createProviderSpeech } from '../../src/voice/engines/realtime/speech.js';
import type { SessionHappening } from '../../src/voice/session/reducer/events.js';
import type { EngineSink } from '../../src/voice/engines/port.js';
import type { ClientEvent } from '../../src/voice/engines/realtime/protocol.js';

const REPLY = { kind: 'reply', id: 'reply-1' } as const;
const PART = { item_id: 'item-1', content_index: 0 };
const closed = { type: 'close_item', itemId: 'item-1', kind: 'reply', startMs: 0 } as const;

/** Speech of which two seconds were sent to the line. */
function spoken() {
  const sent: ClientEvent[] = [];
  const happenings: SessionHappening[] = [];
  const speech = createProviderSpeech({
    sink: { audio: () => undefined, endOfItem: () => undefined } as unknown as EngineSink,
    happened: (what) => happenings.push(what),
    send: (event) => sent.push(event),
  });
  speech.audioCame(REPLY, PART, new Uint8Array(16_000));
  speech.wordsCame(REPLY, 'item-1', 'One two three four.');
  speech.send('item-1');
  return { sent, happenings, speech };
}

describe('what the provider has said', () => {
  it('is forgotten by it from where the caller heard no more, also when no mark told how far that was', () => {
    const { sent, speech } = spoken();
    speech.close({ ...closed, playedMs: 0, complete: false });
    expect(sent).toEqual([
      { type: 'conversation.item.truncate', item_id: 'item-1', content_index: 0, audio_end_ms: 0 },
    ]);
  });

  it('is truncated at what was heard, and the transcript has those words', () => {
    const { sent, speech, happenings } = spoken();
    speech.close({ ...closed, playedMs: 1_000.6, complete: false });
    expect(sent).toEqual([expect.objectContaining({ audio_end_ms: 1_000 })]);
    expect(happenings.at(-1)).toMatchObject({ type: 'item_words', text: 'One two', complete: false });
  });

  it('is kept by it when it was heard to its end', () => {
    const { sent, speech, happenings } = spoken();
    speech.audioDone('item-1');
    speech.close({ ...closed, playedMs: 2_000, complete: true });
    speech.wordsDone('item-1', 'One two three four.');
    expect(sent).toEqual([]);
    expect(happenings.at(-1)).toMatchObject({ text: 'One two three four.', complete: true });
  });
});
