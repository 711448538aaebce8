import type { ToolAnswer } from '../../src/voice/engines/port.js';
import { createAccounts } from '../../src/identity/accounts/accounts.js';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { createRateDeckFile } from './support/rate-deck-file.js';

const AS_DEAR = '+12025550143';
const DEARER = '+447700900123';
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

/** What the agent of a call with this price is told when it transfers. */
async function transfer(number: string, microsPerSecond?: number): Promise<ToolAnswer> {
  const agent = { transferNumbers: [AS_DEAR, DEARER, CHEAPER] };
  const placed = await media.placeCall({ accountId, agent });
  if (microsPerSecond !== undefined) {
    const { collection } = media.database.callRequests;
    await collection.updateOne({ _id: placed.callId as never }, { $set: { microsPerSecond } });
  }
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
  const answer = await sink.tool({ name: 'transfer_call', arguments: { number } });
  line.hangUp();
  await line.closed;
  return answer;
}

describe('an agent never transfers a call to a number that costs more than the call', () => {
  const refused = { ok: false, error: 'this number cannot be called' };

  it('refuses a number whose rate is higher than the one the call was asked for at', async () => {
    expect(await transfer(DEARER)).toEqual(refused);
    expect(await transfer(DEARER, 2_500)).toEqual(refused);
    expect(await transfer(AS_DEAR, 900)).toEqual(refused);
  });

  it('goes where the price is the same or lower', async () => {
    expect(await transfer(AS_DEAR)).toMatchObject({ ok: true });
    expect(await transfer(CHEAPER)).toMatchObject({ ok: true });
    expect(await transfer(DEARER, 2_501)).toMatchObject({ ok: true });
  });
});
