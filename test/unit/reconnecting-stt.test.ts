import { createProviderChain } from '../../src/voice/engines/chain/provider-chain.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import { ProviderError, type SpeechToText, type SttEvents } from '../../src/voice/engines/pipeline/ports.js';
import { openReconnectingStt } from '../../src/voice/engines/pipeline/stt/reconnecting-stt.js';

describe('speech to text that loses its connection', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Opens speech to text whose streams can be broken. */
  function open() {
    const streams: SttEvents[] = [];
    const gone: ProviderError[] = [];
    const stream = { push: nothing, finalize: nothing, discardTurn: nothing, close: nothing };
    const port: SpeechToText = {
      detectsEndOfTurn: false,
      open(_, events) {
        streams.push(events);
        return stream;
      },
    };
    const stt = openReconnectingStt({
      chain: createProviderChain({
        providers: [{ stage: 'stt', number: 1, name: 'deepgram', model: 'nova-3', port }],
        health: createProviderHealth(),
        handlers: { onSwitched: nothing, onServed: nothing },
        retryAfterMs: 200,
      }),
      options: { language: 'en-US', settings: {} },
      events: {
        onInterim: nothing,
        onProbableEnd: nothing,
        onTurnContinued: nothing,
        onEnd: nothing,
        onActivity: nothing,
        onBilled: nothing,
        onSent: nothing,
        onProviderChanged: nothing,
        onReconnecting: nothing,
        onReopened: nothing,
        onGone: (error) => void gone.push(error),
      },
      stallError: () => new ProviderError('recogniser', 'sent nothing'),
    });
    return {
      stt,
      gone,
      /** Breaks the stream, and lets the next one understand the caller. */
      breakAndMend: () => {
        streams.at(-1)?.onLost(new ProviderError('recogniser', 'closed the connection'));
        jest.advanceTimersByTime(200);
        streams.at(-1)?.onEnd('Yes.');
      },
    };
  }

  it('is opened again as often as it breaks, if it breaks rarely', () => {
    const { stt, gone, breakAndMend } = open();
    for (let hour = 0; hour < 8; hour += 1) {
      breakAndMend();
      jest.advanceTimersByTime(30 * 60_000);
    }
    expect(gone).toEqual([]);
    stt.close();
  });

  it('counts as gone at the sixth break within a minute', () => {
    const { gone, breakAndMend } = open();
    for (let count = 0; count < 5; count += 1) breakAndMend();
    expect(gone).toEqual([]);
    breakAndMend();
    expect(gone).toHaveLength(1);
  });
});

const nothing = () => undefined;
