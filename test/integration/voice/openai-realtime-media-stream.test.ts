import { chatAnswer } from './fakes/openai-realtime';
import { GREETING } from './fakes/openai-realtime-session';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';
import { makeRealtimeHarness } from './support/realtime-harness';
import type { RealtimeHarness } from './support/realtime-harness';

const TEMPLATE = { agent: { outputParameters: '{"confirmed":false,"note":null}' } };

describe('a call of the realtime engine on the media stream', () => {
  let harness: RealtimeHarness;
  let media: MediaFixture;
  beforeEach(async () => {
    harness = await makeRealtimeHarness();
    media = await openMediaFixture({ engine: harness.factory });
  });
  afterEach(async () => {
    await media.close();
    await harness.close();
  });

  const waitForEnd = (call: TestCall) =>
    eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined, 30_000);

  it('stores the transcript of both sides, result and usage when the callee hangs up', async () => {
    harness.script?.([{ hears: 'That is all I need.', says: 'Very well.' }]);
    harness.fake.concludeBy(() => ({
      status: 200,
      text: chatAnswer({ summary: 'All was said.', values: { value_1: true, value_2: null } }),
    }));
    const speech = await harness.speak('That is all I need.');
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    const waitForTurns = (turns: number) =>
      eventually(
        async () => ((await media.results.find(call.callId))?.turns.length ?? 0) >= turns && !line.isPlaying(),
        30_000,
      );
    await waitForTurns(1);
    line.say(speech);
    await waitForTurns(3);
    line.hangUp();
    await waitForEnd(call);
    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({ engine: 'openai-realtime', agentAudioPlayed: true, summary: 'All was said.' });
    expect(result?.turns.map(({ speaker, text }) => [speaker, text])).toEqual([
      ['agent', GREETING],
      ['caller', 'That is all I need.'],
      ['agent', 'Very well.'],
    ]);
    expect(result?.outputParameters).toBe('{"confirmed":true,"note":null}');
    expect([...line.frameSizes]).toEqual([160]);
  });

  it('fails with the agent heard, after an apology, if the provider fails during the call', async () => {
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    await eventually(async () => ((await media.results.find(call.callId))?.turns.length ?? 0) > 0, 30_000);
    harness.kill?.();
    expect(await line.closed).toBe(1011);
    await waitForEnd(call);
    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({ endReason: 'media_failed', agentAudioPlayed: true });
    expect(result?.turns[0]?.text).toBe(GREETING);
    expect(result?.turns.at(-1)?.text).toMatch(/^I am sorry/);
  });

  it('fails without audio, and so at no cost, if there is no provider', async () => {
    harness.kill?.();
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1011);
    await waitForEnd(call);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'media_failed', agentAudioPlayed: false });
    expect(line.heard).toEqual([]);
  });
});
