import { startReceiver } from '../webhooks/support/receiver.js';
import { createTestAdapter } from './support/adapter.js';
import type { MachineDetection } from '../../../src/kernel/conversation/voicemail.js';

const SID = `CA${'1'.repeat(32)}`;

/** Dials, and returns the form that the carrier receives. */
async function dialed(machineDetection?: MachineDetection): Promise<URLSearchParams> {
  const rest = await startReceiver((response) =>
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ sid: SID, status: 'queued' })),
  );
  try {
    const carrier = createTestAdapter(rest.url);
    const outcome = await carrier.dial({
      callId: 'call_1',
      to: '+12025550100',
      from: '+12025550199',
      ringTimeoutSeconds: 30,
      timeLimitSeconds: 60,
      ...(machineDetection === undefined ? {} : { machineDetection }),
    });
    expect(outcome).toEqual({ outcome: 'accepted', carrierSid: SID });
    return new URLSearchParams(rest.received[0]?.body);
  } finally {
    await rest.close();
  }
}

it('a dial request names a fallback for TwiML that the carrier cannot use', async () => {
  expect((await dialed()).get('FallbackUrl')).toBe('https://calls.test/carrier/calls/call_1/fallback');
});

describe('the request for answering machine detection', () => {
  it.each([
    ['answer', 'Enable'],
    ['message_end', 'DetectMessageEnd'],
  ] as const)('uses for %s the mode %s, asynchronously and with a status callback', async (detection, mode) => {
    const form = await dialed(detection);
    expect(form.get('MachineDetection')).toBe(mode);
    expect(form.get('AsyncAmd')).toBe('true');
    expect(form.get('AsyncAmdStatusCallback')).toMatch(/^https:\/\/calls\.test\/carrier\/calls\/call_1\/amd(#|$)/);
  });

  it('is omitted if detection is off, because it costs money', async () => {
    const form = await dialed();
    expect([...form.keys()].filter((key) => /machine|amd/i.test(key))).toEqual([]);
  });
});
