import { createProviderSpeech } from '../../src/voice/engines/realtime/speech.js';
import type { SessionEventBody } from '../../src/voice/session/reducer/events.js';
import type { EngineSink } from '../../src/voice/engines/port.js';
import type { ClientEvent } from '../../src/voice/engines/realtime/protocol.js';

const REPLY = { kind: 'reply', id: 'reply-1' } as const;
const PART = { item_id: 'item-1', content_index: 0 };
const closed = { type: 'close_item', itemId: 'item-1', kind: 'reply', startMs: 0 } as const;

/** Creates a provider's speech and sends two seconds of its audio to the call. */
function spoken() {
  const sent: ClientEvent[] = [];
  const events: SessionEventBody[] = [];
  const speech = createProviderSpeech({
    sink: { sendAudio: () => undefined, endItem: () => undefined } as unknown as EngineSink,
    dispatch: (what) => events.push(what),
    send: (event) => sent.push(event),
  });
  speech.onAudio(REPLY, PART, new Uint8Array(16_000));
  speech.onWords(REPLY, 'item-1', 'One two three four.');
  speech.send('item-1');
  return { sent, events, speech };
}

describe('the provider’s copy of a speech item', () => {
  it('is truncated to nothing if no mark confirmed any playback', () => {
    const { sent, speech } = spoken();
    speech.close({ ...closed, playedMs: 0, complete: false });
    expect(sent).toEqual([
      { type: 'conversation.item.truncate', item_id: 'item-1', content_index: 0, audio_end_ms: 0 },
    ]);
  });

  it('is truncated to the played audio, and the transcript has the same words', () => {
    const { sent, speech, events } = spoken();
    speech.close({ ...closed, playedMs: 1_000.6, complete: false });
    expect(sent).toEqual([expect.objectContaining({ audio_end_ms: 1_000 })]);
    expect(events.at(-1)).toMatchObject({ type: 'item_words', text: 'One two', complete: false });
  });

  it('is kept in full after complete playback', () => {
    const { sent, speech, events } = spoken();
    speech.onAudioDone('item-1');
    speech.close({ ...closed, playedMs: 2_000, complete: true });
    speech.onAllWords('item-1', 'One two three four.');
    expect(sent).toEqual([]);
    expect(events.at(-1)).toMatchObject({ text: 'One two three four.', complete: true });
  });
});
