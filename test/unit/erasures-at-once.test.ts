import { createErasureActivities } from '../../activities/erasures.js';
import { RetryLaterError } from '../../src/kernel/errors.js';

it('a worker erases two calls at once, and the others come back soon', async () => {
  const ends: (() => void)[] = [];
  const erasures = createErasureActivities({
    eraseCall: () => new Promise<void>((resolve) => ends.push(resolve)),
  });
  const first = [erasures.eraseCall({ callId: 'call_1' }), erasures.eraseCall({ callId: 'call_2' })];
  const error = await erasures.eraseCall({ callId: 'call_3' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RetryLaterError);
  expect(error).toMatchObject({ isPlanned: true });
  const { afterMs } = error as RetryLaterError;
  expect(afterMs).toBeGreaterThanOrEqual(500);
  expect(afterMs).toBeLessThan(1_500);
  expect(ends).toHaveLength(2);
  for (const end of ends.splice(0)) end();
  await Promise.all(first);
  const next = erasures.eraseCall({ callId: 'call_3' });
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await next;
});

it('a failed erasure makes room for the next', async () => {
  const erasures = createErasureActivities({ eraseCall: () => Promise.reject(new Error('no database')) });
  for (let i = 0; i < 5; i++) await expect(erasures.eraseCall({ callId: 'call_1' })).rejects.toThrow('no database');
});
