import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';
import { GREETING, openPipeline } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const TEMPLATE = { agent: { outputParameters: '{"confirmed":false,"note":null}' } };

describe('a call of the pipeline engine on the media stream', () => {
  let pipeline: PipelineHarness;
  let media: MediaFixture;
  beforeEach(async () => {
    pipeline = await openPipeline();
    media = await openMediaFixture({ engine: pipeline.factory });
  });
  afterEach(async () => {
    await media.close();
    await pipeline.close();
  });

  const turnsOf = async (call: TestCall) => (await media.results.find(call.callId))?.turns ?? [];
  const waitForEnd = (call: TestCall) =>
    eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined, 30_000);

  it('stores the transcript of both sides, values, usage and latencies, and is ended by the model', async () => {
    pipeline.stt.script(['Yes, I will be there.']);
    pipeline.chat.answers.set('Yes, I will be there.', {
      says: 'Thank you. Goodbye.',
      calls: { name: 'end_call', arguments: {} },
    });
    pipeline.chat.values = { value_1: true };
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    await eventually(async () => (await turnsOf(call)).length === 1 && !line.isPlaying(), 30_000);
    line.say(await pipeline.speak('Yes, I will be there.'));
    expect(await line.closed).toBe(1_000);
    await waitForEnd(call);
    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({
      engine: 'pipeline',
      endReason: 'agent_hangup',
      answeredBy: 'human',
      agentAudioPlayed: true,
      summary: 'The appointment was talked about.',
      outputParameters: '{"confirmed":true,"note":null}',
    });
    expect(result?.turns.map(({ speaker, text }) => [speaker, text])).toEqual([
      ['agent', GREETING],
      ['caller', 'Yes, I will be there.'],
      ['agent', 'Thank you. Goodbye.'],
    ]);
    expect(result?.usage?.units['chat_output_tokens']).toBeGreaterThan(0);
    expect(result?.latencies?.[0]?.parts?.['recogniser']).toBeGreaterThan(0);
    expect([...line.frameSizes]).toEqual([160]);
    // The service sends audio at most 360 ms before its playback. On a busy machine the simulated line plays frames
    // late, so more audio waits in the line.
    expect(line.mostAheadMs).toBeLessThanOrEqual(1_800);
  });

  it('fails with the agent heard, after an apology, if every provider fails during the call', async () => {
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    await eventually(async () => (await turnsOf(call)).length === 1, 30_000);
    pipeline.kill();
    expect(await line.closed).toBe(1_011);
    await waitForEnd(call);
    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({ endReason: 'media_failed', agentAudioPlayed: true });
    expect(result?.turns.at(-1)?.text).toMatch(/^I am sorry/);
  });

  it('fails without audio, and so at no cost, if there is no provider', async () => {
    pipeline.kill();
    const call = await media.placeCall(TEMPLATE);
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1_011);
    await waitForEnd(call);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'media_failed', agentAudioPlayed: false });
    expect(line.heard).toEqual([]);
  });
});
