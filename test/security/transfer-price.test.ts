import type { ToolResult } from '../../src/voice/engines/port.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { createRateDeckFile } from './support/rate-deck-file.js';

const SAME_PRICE = '+12025550143';
const MORE_EXPENSIVE = '+447700900123';
const CHEAPER = '+13125550143';
const deck = createRateDeckFile('1,2500\n1312,900\n4477,2501\n');
const engine = createScriptedEngine();
let media: MediaFixture;
let accountId: string;

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory, env: { RATE_DECK_FILE: deck.path } });
  accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
});
afterAll(async () => {
  await media.close();
  deck.remove();
});

/** Returns the result that the agent of a call with this price gets when it transfers the call. */
async function transfer(number: string, microsPerSecond?: number): Promise<ToolResult> {
  const agent = { transferNumbers: [SAME_PRICE, MORE_EXPENSIVE, CHEAPER] };
  const placed = await media.placeCall({ accountId, agent });
  if (microsPerSecond !== undefined) {
    const { collection } = media.database.callRequests;
    await collection.updateOne({ _id: placed.callId as never }, { $set: { microsPerSecond } });
  }
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
  const response = await sink.runTool({ name: 'transfer_call', arguments: { number } });
  line.hangUp();
  await line.closed;
  return response;
}

describe('a transfer to a number', () => {
  const rejection = { ok: false, error: 'this number cannot be called' };

  it('is rejected if its rate is higher than the rate of the call', async () => {
    expect(await transfer(MORE_EXPENSIVE)).toEqual(rejection);
    expect(await transfer(MORE_EXPENSIVE, 2_500)).toEqual(rejection);
    expect(await transfer(SAME_PRICE, 900)).toEqual(rejection);
  });

  it('is allowed if its rate is the same or lower', async () => {
    expect(await transfer(SAME_PRICE)).toMatchObject({ ok: true });
    expect(await transfer(CHEAPER)).toMatchObject({ ok: true });
    expect(await transfer(MORE_EXPENSIVE, 2_501)).toMatchObject({ ok: true });
  });
});
