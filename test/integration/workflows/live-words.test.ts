import { createLiveWords } from '../../../src/voice/live-words/live-words.js';
import { placeCall, startHarness, type Harness } from './harness.js';
import { recordHistory } from './recorded-histories.js';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
}, 120_000);
afterAll(() => harness.stop());
afterEach(() => recordHistory(harness, { 'are deleted when it ends': 'live-words-removed' }));

describe('the interim words of a call', () => {
  it('are deleted when it ends', async () => {
    const liveWords = createLiveWords(harness.database);
    const { call } = await placeCall(harness);
    await call.answer();
    await call.startStream();
    for (const callId of [call.callId, 'call_other']) {
      await liveWords.watch(callId);
      await liveWords.write(callId, [{ speaker: 'caller', text: 'Hello', afterMs: -1 }]);
    }
    // The media process does not delete the words, as if it had stopped without warning.
    await call.endStream();
    await call.end('completed', { durationSeconds: 7 });
    expect(await call.result()).toMatchObject({ status: 'COMPLETED' });
    expect(await liveWords.find(call.callId)).toEqual([]);
    expect(await liveWords.find('call_other')).toHaveLength(1);
  });
});
