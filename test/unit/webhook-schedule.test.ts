import type { WebhookAttemptDocument } from '../../src/webhooks/model.js';
import { nextStep } from '../../src/webhooks/schedule.js';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');

function attempt(
  number: number,
  row: { started: number; finished?: number; outcome?: 'delivered' | 'failed' | 'interrupted' },
) {
  const document: WebhookAttemptDocument = {
    _id: `call:${number}`,
    callId: 'call',
    number,
    startedAt: new Date(NOW + row.started),
  };
  if (row.finished !== undefined) document.finishedAt = new Date(NOW + row.finished);
  if (row.outcome) document.outcome = row.outcome;
  return document;
}

const failed = (number: number, finished: number) =>
  attempt(number, { started: finished - 20, finished, outcome: 'failed' });

describe('webhook schedule', () => {
  it('sends the first attempt at once', () => {
    expect(nextStep([], NOW)).toEqual({ step: 'send', number: 1 });
  });

  it.each([
    [1, 1_000],
    [2, 5_000],
    [3, 30_000],
  ])('waits, after attempt %d, %d ms from its failure', (number, wait) => {
    expect(nextStep([failed(number, 0)], NOW + wait - 1)).toEqual({ step: 'wait', afterMs: 1 });
    expect(nextStep([failed(number, 0)], NOW + wait)).toEqual({ step: 'send', number: number + 1 });
  });

  it('tries an endpoint that never responds at 0, 6, 16 and 51 s', () => {
    const startedAt: number[] = [];
    const rows: WebhookAttemptDocument[] = [];
    for (let now = NOW; now <= NOW + 100_000; now += 500) {
      const next = nextStep(rows, now);
      if (next.step !== 'send') continue;
      const started = now - NOW;
      startedAt.push(started / 1_000);
      rows.push(attempt(next.number, { started, finished: started + 5_000, outcome: 'failed' }));
      now += 5_000;
    }
    expect(startedAt).toEqual([0, 6, 16, 51]);
    expect(nextStep(rows, NOW + 200_000)).toEqual({ step: 'exhausted' });
  });

  it('is exhausted after the fourth failure or interrupted attempt', () => {
    expect(nextStep([failed(4, -1)], NOW)).toEqual({ step: 'exhausted' });
    expect(nextStep([attempt(4, { started: -9_000, finished: -4_000, outcome: 'interrupted' })], NOW)).toEqual({
      step: 'exhausted',
    });
  });

  it('leaves a recent attempt without an outcome to its worker', () => {
    expect(nextStep([attempt(1, { started: 0 })], NOW + 5_999)).toEqual({ step: 'wait', afterMs: 1 });
  });

  it('interrupts an old attempt without an outcome, as failed 5 s after its start', () => {
    expect(nextStep([attempt(2, { started: 0 })], NOW + 6_000)).toEqual({
      step: 'interrupt',
      number: 2,
      failedAt: NOW + 5_000,
    });
  });

  it('recognizes a delivery before a later attempt', () => {
    const delivered = attempt(1, { started: 0, finished: 10, outcome: 'delivered' });
    expect(nextStep([delivered, attempt(2, { started: 20 })], NOW + 30)).toEqual({ step: 'delivered' });
  });
});
