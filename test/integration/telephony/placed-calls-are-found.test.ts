import { startReceiver } from '../webhooks/support/receiver.js';
import { createTestAdapter } from './support/adapter.js';

const SID = `CA${'1'.repeat(32)}`;

/**
 * Starts a carrier with one call. The call leaves the carrier's queue right after the first list request.
 * @param parentCallSid the call that has placed it with `<Dial>`
 */
async function startCarrier(parentCallSid: string | null = null) {
  let isQueued = true;
  return startReceiver((response, { path }) => {
    const { searchParams } = new URL(path, 'http://carrier.test');
    const isListed = searchParams.get('Status') === 'queued' ? isQueued : !isQueued;
    isQueued = false;
    const call = { sid: SID, parent_call_sid: parentCallSid, status: 'in-progress' };
    const calls = isListed ? [{ ...call, date_created: new Date().toUTCString() }] : [];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ calls, page_size: 100 }));
  });
}

/** Returns the calls that the adapter finds between two numbers. */
async function findPlaced(rest: Awaited<ReturnType<typeof startCarrier>>): Promise<string[]> {
  try {
    const carrier = createTestAdapter(rest.url);
    const since = Date.now() - 1_000;
    const found = await carrier.findPlaced({ to: '+12025550100', from: '+12025550199', since });
    return found.map(({ carrierSid }) => carrierSid);
  } finally {
    await rest.close();
  }
}

describe('a call that may have been placed', () => {
  it('is found even if it leaves the queue while the lists are read', async () => {
    expect(await findPlaced(await startCarrier())).toEqual([SID]);
  });

  it('is not a call that a transfer of another call has placed between the same numbers', async () => {
    expect(await findPlaced(await startCarrier(`CA${'2'.repeat(32)}`))).toEqual([]);
  });
});
