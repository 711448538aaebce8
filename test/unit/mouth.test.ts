import { setTimeout as sleep } from 'node:timers/promises';
import { createMouth } from '../../src/voice/engines/offline/mouth.js';
import type { EngineSink, TranscriptTurn } from '../../src/voice/engines/port.js';
import { silence } from '../support/spoken';

describe('a line of the agent', () => {
  it('is not taken for cut off while the voice is late with its second part, but is when no mark ever comes', async () => {
    const transcript: TranscriptTurn[] = [];
    const sink: EngineSink = {
      audio: () => undefined,
      endOfItem: () => undefined,
      clear: () => undefined,
      transcript: (turn) => transcript.push(turn),
      values: () => undefined,
      latency: () => undefined,
      tool: () => Promise.resolve({ ok: false, error: 'there are no tools' }),
      end: () => undefined,
      fail: (error) => {
        throw error;
      },
    };
    const mouth = createMouth({
      speak: async (text) => {
        if (text === 'late') await sleep(4_000);
        return silence(200);
      },
      sink,
      now: () => performance.now(),
      onFinished: () => undefined,
    });
    const ticking = setInterval(() => mouth.tick(), 50);
    const said = mouth.say(['early', 'late'], 'line');
    await sleep(3_600);
    expect(mouth.saying()?.text).toBe('early late');
    await said;
    mouth.onPlayed('item-1', 200, false);
    await sleep(3_600);
    clearInterval(ticking);
    expect(mouth.saying()).toBeUndefined();
    expect(transcript.map(({ text }) => text)).toEqual(['early (interrupted)']);
  });
});
