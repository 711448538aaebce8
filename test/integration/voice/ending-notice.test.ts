import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from '../../../src/voice/engines/offline/phrases.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';

describe('the announcement of an end by balance or duration limit', () => {
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ timings: { endingsEveryMs: 200 } });
  });
  afterAll(() => media.close());

  let sequence = 1;

  /** Writes the call's read model as its workflow does. */
  async function storeEnd(call: TestCall, endsAfterSeconds: number | null): Promise<void> {
    const projection = createCallProjection(media.database);
    const request = await createCallRequests(media.database).find(call.callId);
    if (!request) throw new Error('The call was never asked for.');
    const change = { callId: call.callId, sequence: sequence++, at: Date.now() };
    await projection.begin(request, { ...change, status: 'IN_PROGRESS' });
    await projection.apply({ ...change, sequence: sequence++, endsAfterSeconds });
  }

  async function agentLines(call: TestCall): Promise<string[]> {
    const turns = (await media.results.find(call.callId))?.turns ?? [];
    return turns.filter(({ speaker }) => speaker === 'agent').map(({ text }) => text);
  }

  it('is spoken by the agent about twenty seconds before the end, once, and not earlier', async () => {
    const call = await media.placeCall();
    await storeEnd(call, 30);
    const line = await media.openLine(call);
    await eventually(async () => (await agentLines(call)).includes(TWENTY_SECONDS_LEFT), 25_000);
    expect(performance.now() - line.startedAt).toBeGreaterThanOrEqual(10_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    line.hangUp();
    await line.closed;
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
    const announcements = (await agentLines(call)).filter((text) =>
      [TWENTY_SECONDS_LEFT, FEW_SECONDS_LEFT].includes(text),
    );
    expect(announcements).toEqual([TWENTY_SECONDS_LEFT]);
  });

  it('states the remaining time if the end becomes known late, and is not spoken if the end is lifted', async () => {
    const [late, lifted] = [await media.placeCall(), await media.placeCall()];
    await storeEnd(late, 11);
    await storeEnd(lifted, 26);
    const [lateLine, liftedLine] = [await media.openLine(late), await media.openLine(lifted)];
    // In this time the media server reads the call several times.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await storeEnd(lifted, null);
    await eventually(async () => (await agentLines(late)).includes(FEW_SECONDS_LEFT), 15_000);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    lateLine.hangUp();
    liftedLine.hangUp();
    await Promise.all([lateLine.closed, liftedLine.closed]);
    expect(await agentLines(lifted)).not.toContain(TWENTY_SECONDS_LEFT);
  });
});
