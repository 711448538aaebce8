import crypto from 'node:crypto';
import { mongo } from 'mongoose';
import { createAccountLookUps } from '../../src/voice/media/account-look-ups.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { dialIn } from '../integration/voice/support/carrier-line.js';
import { openMediaFixture, STREAM_URL, type MediaFixture } from '../integration/voice/support/media-fixture.js';
import { accountEntry, writeAccountsFile } from '../support/carrier-accounts.js';

/** As many as an operator with many customers may have. */
const ACCOUNTS = Array.from({ length: 99 }, (_, index) =>
  accountEntry(`account-${index}`, `+120255501${String(index).padStart(2, '0')}`),
);
const [OWN, OTHER] = ACCOUNTS;
const POOLS = [{ name: 'all', accounts: ACCOUNTS.map(({ name }) => name) }];
/** The package computes one for each way to write the URL. */
const MOST_PER_TOKEN = 6;
const CALLS = 'call_requests';
const UNKNOWN = `call_${'0'.repeat(26)}`;

const forged = () => crypto.randomBytes(20).toString('base64');

let media: MediaFixture;
/** A service with the accounts `live` and `test` only. */
let small: MediaFixture;
beforeAll(async () => {
  const file = writeAccountsFile({ accounts: ACCOUNTS, pools: POOLS });
  media = await openMediaFixture({ env: { CARRIER_ACCOUNTS_FILE: file } });
  small = await openMediaFixture();
});
afterAll(async () => {
  await media.close();
  await small.close();
});

/** Stores a call of the first of the accounts. */
async function placeCall() {
  const call = await media.placeCall();
  const carrierAccountId = OWN?.account_sid;
  await media.database.callRequests.updateOne({ _id: call.callId }, { $set: { carrierAccountId } });
  return call;
}

const lineOf = (callId: string, signature: string, at = media) => ({
  ...at.lineOptions({ callId, carrierSid: '', streamSid: '' }),
  signature,
});

const signatureOf = (callId: string, authToken = '') => sign({ authToken, url: `${STREAM_URL}/${callId}`, params: {} });

/** Sends an upgrade request. Returns its rejection, and how many signatures the server computed and calls it read. */
async function sendUpgrade(callId: string, signature: string, at = media) {
  const hmacs = jest.spyOn(crypto, 'createHmac');
  const finds = jest.spyOn(mongo.Collection.prototype, 'findOne');
  const rejection = await dialIn(lineOf(callId, signature, at)).catch((error: Error) => error.message);
  const computed = hmacs.mock.calls.filter(([algorithm]) => algorithm === 'sha1').length;
  const read = finds.mock.contexts.filter((one) => (one as mongo.Collection).collectionName === CALLS).length;
  hmacs.mockRestore();
  finds.mockRestore();
  return { rejection, computed, read };
}

describe('a stream without a valid signature', () => {
  const REJECTED = 'refused with 403';

  it.each(['', 'x', 'A'.repeat(28), `${'A'.repeat(26)}==`, `${'-'.repeat(27)}=`])(
    'costs neither a computed signature nor a look-up if its own is malformed: %j',
    async (signature) => {
      const { callId } = await placeCall();
      expect(await sendUpgrade(callId, signature)).toEqual({ rejection: REJECTED, computed: 0, read: 0 });
    },
  );

  it('costs one look-up if it names an unknown call, and gets the response for a known one', async () => {
    const { callId } = await placeCall();
    expect(await sendUpgrade(UNKNOWN, forged())).toEqual({ rejection: REJECTED, computed: 0, read: 1 });
    expect(await sendUpgrade(callId, forged())).toMatchObject({ rejection: REJECTED, read: 1 });
    expect(await sendUpgrade(UNKNOWN, signatureOf(UNKNOWN, OWN?.auth_token))).toMatchObject({ rejection: REJECTED });
  });

  it('is compared with the tokens of the account of its call only', async () => {
    const { callId } = await placeCall();
    const { computed } = await sendUpgrade(callId, forged());
    expect(computed).toBeGreaterThan(0);
    expect(computed).toBeLessThanOrEqual(MOST_PER_TOKEN);
  });

  it('does not hold up the stream of the carrier, which only the account of the call can open', async () => {
    const { callId } = await placeCall();
    const upgrade = (signature: string) => dialIn(lineOf(callId, signature));
    const rejected = [...Array.from({ length: 50 }, forged), signatureOf(callId, OTHER?.auth_token)];
    const strangers = Promise.allSettled(rejected.map(upgrade));
    const socket = await upgrade(signatureOf(callId, OWN?.auth_token));
    expect(socket.readyState).toBe(socket.OPEN);
    for (const outcome of await strangers) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: REJECTED } });
    }
    socket.terminate();
  });

  it('costs no look-up where few accounts make it cheaper to compare it with all of their tokens', async () => {
    const { callId } = await small.placeCall();
    for (const each of [callId, UNKNOWN]) {
      expect(await sendUpgrade(each, forged(), small)).toMatchObject({ rejection: REJECTED, read: 0 });
    }
    const socket = await small.dialIn({ callId, carrierSid: '', streamSid: '' });
    expect(socket.readyState).toBe(socket.OPEN);
    socket.terminate();
  });
});

describe('look-ups of carrier accounts', () => {
  const isOpen = () => true;

  it('of a flood from one network delay only that network’s, and are few at once', async () => {
    const asked: string[] = [];
    let finish = () => undefined as void;
    const held = new Promise<void>((resolve) => (finish = resolve));
    const lookUps = createAccountLookUps({
      async accountOf(callId) {
        asked.push(callId);
        await held;
        return null;
      },
    });
    const flood = Array.from({ length: 3_000 }, () => lookUps.find('flood', { client: '192.0.2.1', isOpen }));
    const carrier = lookUps.find('carrier', { client: '198.51.100.1', isOpen });
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toHaveLength(8);
    finish();
    expect(await carrier).toBeNull();
    expect(asked.indexOf('carrier')).toBe(8);
    expect((await Promise.all(flood)).filter((outcome) => outcome === 'too many').length).toBeGreaterThan(900);
  });

  it('are not made for senders that have gone', async () => {
    const accountOf = jest.fn(async () => null);
    expect(
      await createAccountLookUps({ accountOf }).find('call', { client: '192.0.2.1', isOpen: () => false }),
    ).toBeNull();
    expect(accountOf).not.toHaveBeenCalled();
  });
});
