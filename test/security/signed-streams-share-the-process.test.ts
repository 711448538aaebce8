import { setImmediate as turn } from 'node:timers/promises';
import { mongo } from 'mongoose';
import { createCarriers } from '../../src/telephony/carriers.js';
import { createAdmission } from '../../src/voice/media/admission.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { newCallId } from '../support/store/test-database.js';
import { ACME, EUROPE, TWO_ACCOUNTS, writeAccountsFile } from '../support/carrier-accounts';
import { openMediaFixture, STREAM_URL, type MediaFixture } from '../integration/voice/support/media-fixture.js';

/** Maximum decisions about the streams of one account at once. */
const AT_ONCE = 10;
const RESULTS = 'conversation_results';

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture();
});
afterAll(() => media.close());

describe('streams with a valid signature', () => {
  type Account = Pick<typeof EUROPE, 'account_sid' | 'auth_token'>;

  /** Creates an admission whose reads of calls do not end before `finish`. */
  function holdDecisions(env: NodeJS.ProcessEnv) {
    const config = parseConfig({ NODE_ENV: 'test', STREAM_URL, ...env });
    const accountOf = new Map<string, string>();
    const decided: string[] = [];
    let slots = 0;
    let finish = () => undefined as void;
    const held = new Promise<void>((resolve) => (finish = resolve));
    const admit = createAdmission({
      config,
      carriers: createCarriers({ config }),
      database: media.database,
      calls: {
        accountOf: async (callId) => ({ mode: 'live', carrierAccountId: accountOf.get(callId) }),
        async find(callId) {
          decided.push(callId);
          await held;
          return null;
        },
        isFinal: async () => true,
        isErased: async () => false,
        endings: async () => new Map(),
      },
    });
    return {
      decided,
      slots: () => slots,
      finish,
      carrier: config.carriers.live,
      open({ account_sid: accountSid, auth_token: authToken }: Account) {
        const callId = newCallId();
        accountOf.set(callId, accountSid);
        const signature = sign({ authToken, url: `${STREAM_URL}/${callId}`, params: {} });
        const sender = {
          client: '192.0.2.1',
          isOpen: () => true,
          arrive: () => true,
          acquire: () => ++slots > 0,
          assign: () => true,
        };
        return { callId, admission: admit(callId, { rest: '', headers: { 'x-twilio-signature': signature } }, sender) };
      },
    };
  }

  const settle = async () => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  };

  it('are decided ten at once for an account, and take neither reads nor slots from those of another one', async () => {
    const at = holdDecisions({ CARRIER_ACCOUNTS_FILE: writeAccountsFile(TWO_ACCOUNTS) });
    const flood = Array.from({ length: 60 }, () => at.open(ACME));
    await settle();
    expect([at.decided.length, at.slots()]).toEqual([AT_ONCE, AT_ONCE]);
    const other = at.open(EUROPE);
    await settle();
    expect(at.decided).toContain(other.callId);
    at.finish();
    for (const { admission } of [...flood, other]) {
      expect(await admission).toEqual({ admitted: false, status: 404, why: 'no such call' });
    }
  });

  it('are all decided at once if it is the only account', async () => {
    const at = holdDecisions({});
    const { carrierAccountId: account_sid, authToken: auth_token } = at.carrier;
    const all = Array.from({ length: 60 }, () => at.open({ account_sid, auth_token }));
    await settle();
    expect(at.decided).toHaveLength(all.length);
    at.finish();
    await Promise.all(all.map(({ admission }) => admission));
  });

  it('of an ended call read no transcript', async () => {
    const call = await media.placeCall();
    const at = new Date();
    const turns = [{ speaker: 'caller', text: 'Hello?', startMs: 0, endMs: 500 }];
    const { carrierSid, streamSid } = call;
    await media.database.conversationResults.collection.insertOne({
      _id: call.callId as never,
      carrierSid,
      streamSid,
      engine: 'offline',
      startedAt: at,
      endedAt: at,
      agentAudioPlayed: true,
      turns,
    });
    const finds = jest.spyOn(mongo.Collection.prototype, 'findOne');
    await expect(media.dialIn(call)).rejects.toThrow('refused with 409');
    const reads = finds.mock.calls.filter((_, index) => {
      const { collectionName } = finds.mock.contexts[index] as mongo.Collection;
      return collectionName === RESULTS;
    });
    finds.mockRestore();
    expect(reads.map(([, options]) => (options as mongo.FindOptions).projection)).toEqual([
      expect.objectContaining({ turns: 0 }),
    ]);
  });
});
