import { createAdmission } from '../../src/voice/media/admission.js';
import { createMediaCallReader } from '../../src/calls/wiring.js';
import { createCarriers } from '../../src/telephony/carriers.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import {
  ACME,
  defaultAccountOf,
  EUROPE,
  NEVER_ANSWERS,
  postSignedBy,
  startAcceptingCarrier,
  TWO_ACCOUNTS,
  writeAccountsFile,
} from '../support/carrier-accounts';
import {
  eventually,
  expectError,
  startService,
  STREAM_URL,
  type Customer,
  type Service,
} from '../support/http/harness.js';
import { newSid } from '../support/sids.js';

const HANG_UP = '<?xml version="1.0" encoding="UTF-8"?><Response><Hangup/></Response>';

let service: Service;
let customer: Customer;
let carrier: Awaited<ReturnType<typeof startAcceptingCarrier>>;
let nextSid: string;
/** The path of each request, the account in it, and the credentials. */
const requests: { path: string; account: string; credentials: string }[] = [];

beforeAll(async () => {
  carrier = await startAcceptingCarrier(({ url = '', headers }, account) => {
    const credentials = Buffer.from(headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
    requests.push({ path: url, account, credentials });
    return nextSid;
  });
  service = await startService({
    env: { SIMULATOR_URL: carrier.url, CARRIER_ACCOUNTS_FILE: writeAccountsFile(TWO_ACCOUNTS) },
  });
  customer = await service.customer();
});
beforeEach(() => requests.splice(0));
afterAll(async () => {
  await service.close();
  await carrier.close();
});

/** Places a call on the account of Europe, and waits until the carrier has it. */
async function placeInEurope(): Promise<{ callId: string; sid: string }> {
  nextSid = newSid('CA');
  const sid = nextSid;
  const answer = await service.place(customer.liveKey, {
    to_phone_number: NEVER_ANSWERS,
    agent_id: customer.agent._id,
  });
  const callId = String(answer.json['call_id']);
  await eventually(() => service.database.carrierBindings.exists({ _id: callId, carrierSid: sid }));
  return { callId, sid };
}

const others = () =>
  [
    ['another account', ACME],
    ['the account default', defaultAccountOf(service)],
  ] as const;

describe('an account cannot affect the calls of another one', () => {
  it('by status callbacks, instructions or results of detection, although its signature is valid', async () => {
    const { callId, sid } = await placeInEurope();
    for (const [, account] of others()) {
      const post = (end: string, form: Record<string, string>) =>
        postSignedBy(service, account, `/carrier/calls/${callId}/${end}`, { CallSid: sid, ...form });
      expect((await post('status', { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '60' })).status).toBe(
        200,
      );
      expect((await post('amd', { AnsweredBy: 'machine_start' })).status).toBe(200);
      for (const end of ['twiml', 'fallback', 'after-stream']) {
        expect((await post(end, { CallStatus: 'in-progress' })).text).toBe(HANG_UP);
      }
      const ended = { CallSid: sid, CallStatus: 'completed', CallDuration: '60' };
      expect((await postSignedBy(service, account, '/carrier/status', ended)).status).toBe(200);
    }
    expect(await service.database.carrierEvents.countDocuments({ callId })).toBe(0);
    expect(await service.database.calls.findById(callId).lean()).toMatchObject({ status: 'RINGING' });
    expect(await service.database.carrierBindings.findById(callId).lean()).not.toHaveProperty('answeredBy');
    expect(await service.countSignals(callId)).toBe(0);
    const own = { CallSid: sid, CallStatus: 'busy', SequenceNumber: '1' };
    expect((await postSignedBy(service, EUROPE, `/carrier/calls/${callId}/status`, own)).status).toBe(200);
    await eventually(() => service.database.calls.exists({ _id: callId, status: 'FAILED', endReason: 'busy' }));
  });

  it('by naming the other account with its own signature', async () => {
    const { callId, sid } = await placeInEurope();
    const form = { CallSid: sid, CallStatus: 'completed' };
    const path = `/carrier/calls/${callId}/status`;
    for (const [, account] of others()) {
      expectError(await postSignedBy(service, account, path, form, EUROPE.account_sid), 403, 'FORBIDDEN');
      expectError(
        await postSignedBy(service, { ...EUROPE, auth_token: account.auth_token }, path, form),
        403,
        'FORBIDDEN',
      );
    }
  });

  it('by opening its media stream', async () => {
    const { callId } = await placeInEurope();
    const admit = createAdmission({
      config: service.config,
      carriers: createCarriers({ config: service.config }),
      database: service.database,
      calls: createMediaCallReader(service.database),
    });
    const sender = {
      client: '192.0.2.1',
      isOpen: () => true,
      arrive: () => true,
      acquire: () => true,
      assign: () => true,
    };
    const upgradeBy = ({ auth_token: authToken }: { auth_token: string }) => {
      const signature = sign({ authToken, url: `${STREAM_URL}/${callId}`, params: {} });
      return admit(callId, { rest: '', headers: { 'x-twilio-signature': signature } }, sender);
    };
    for (const [, account] of others()) {
      expect(await upgradeBy(account)).toEqual({ admitted: false, status: 403, why: 'no valid carrier signature' });
    }
    expect(await upgradeBy(EUROPE)).toMatchObject({ admitted: true });
  });

  it('by starting calls of customers who are not its own', async () => {
    const customers: string[] = ['acct_00000000000000000000000001'];
    Object.assign(service.config.carriers.further[1]!, { customers });
    const { agent, account } = await service.customer();
    await service.phoneNumbers.add({ number: '+12025550161', accountId: account._id, agentId: agent._id });
    const callsOf = (path: string, form: object = {}) =>
      postSignedBy(service, ACME, path, {
        CallSid: newSid('CA'),
        From: '+12025550143',
        To: '+12025550199',
        ...form,
      });
    const attempts = [
      () => callsOf(`/inbound_call?agent_id=${agent._id}`),
      () => callsOf('/inbound_call', { ForwardedFrom: '+12025550161' }),
    ];
    for (const attempt of attempts) expect((await attempt()).text).not.toContain('<Stream');
    expect(await service.database.callRequests.countDocuments({ accountId: account._id })).toBe(0);
    customers.push(account._id);
    for (const attempt of attempts) expect((await attempt()).text).toContain('<Stream');
  });

  it('by announcing its inbound call again', async () => {
    const sid = newSid('CA');
    const form = { CallSid: sid, From: '+442071838761', To: EUROPE.from_number, agent_id: customer.agent._id };
    const first = await postSignedBy(service, EUROPE, '/inbound_call', form);
    expect(first.text).toContain('<Stream');
    for (const [, account] of others()) {
      expect((await postSignedBy(service, account, '/inbound_call', form)).text).toContain('<Reject');
    }
    expect((await postSignedBy(service, EUROPE, '/inbound_call', form)).text).toBe(first.text);
    const [, callId] = /\/(call_[0-9A-Z]{26})"/.exec(first.text) ?? [];
    const stored = await service.database.callRequests.findById(callId).lean();
    expect(stored).toMatchObject({ carrierAccountId: EUROPE.account_sid });
  });
});

describe('the credentials of an account', () => {
  it('are sent only with requests about its own calls', async () => {
    const { callId, sid } = await placeInEurope();
    await service.gateway.hangUp(callId, { cause: 'api_hangup' });
    const aboutCall = () => requests.filter(({ path }) => path.includes(sid));
    await eventually(async () => aboutCall().length > 0);
    for (const { account, credentials } of aboutCall()) {
      expect({ account, credentials }).toEqual({
        account: EUROPE.account_sid,
        credentials: `${EUROPE.account_sid}:${EUROPE.auth_token}`,
      });
    }
    for (const { account, credentials } of requests) expect(credentials.split(':')[0]).toBe(account);
  });
});
