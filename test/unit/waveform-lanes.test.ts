import { createReadWaveform } from '../../src/calls/views/waveform.js';

type Deps = Parameters<typeof createReadWaveform>[0];
type Request = Parameters<ReturnType<typeof createReadWaveform>>[0];

const callIdOf = (number: number) => `call_01JDZ3NDEKTSV4RRFFQ69G5F${String(number).padStart(2, '0')}`;

it('waveforms of test calls that take long delay no waveform of a live call', async () => {
  const hanging = new Promise<Uint8Array>(() => undefined);
  let started = 0;
  const readWaveform = createReadWaveform({
    queries: {
      find: async ({ callId, accountId }: { callId: string; accountId: string }) => ({ _id: callId, accountId }),
    },
    recordings: {
      async readWaveform(callId: string, start: (compute: () => Promise<Uint8Array>) => Promise<Uint8Array>) {
        const peaks = await start(() => {
          started += 1;
          return callId === callIdOf(99) ? Promise.resolve(new Uint8Array([1, 2])) : hanging;
        });
        return { durationMs: 10, peaks };
      },
    },
    respondWithinMs: 1_000,
  } as unknown as Deps);
  const read = async (mode: 'live' | 'test', number: number) =>
    await readWaveform({
      ctx: { state: { arrivedAt: Date.now(), minDeadlineMs: 0 } },
      principal: { account: { _id: `acct_${number}` }, mode },
      params: { call_id: callIdOf(number) },
    } as unknown as Request);

  const slow = [1, 2, 3].map((number) => read('test', number).catch((error: unknown) => error));
  await new Promise(setImmediate);
  await expect(read('live', 99)).resolves.toMatchObject({ caller: [1], agent: [2] });
  expect(started).toBe(2);
  for (const late of await Promise.all(slow)) expect(late).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
});
