import { randomUUID } from 'node:crypto';
import { ulid } from 'ulid';
import { createCallRequests } from '../../../src/calls/call-requests.js';
import { openDatabase, type Database } from '../../../src/database.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { newSid } from '../../support/sids.js';
import { runAdmin } from './support/run-cli.js';
import { callRequest } from '../../support/store/call-request.js';

describe('callwright admin calls trace', () => {
  const uri = `${process.env.TEST_MONGODB_URI}/cli_${randomUUID().slice(0, 8)}`;
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(uri);
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  async function requestCall(): Promise<string> {
    const callId = `call_${ulid()}`;
    await createCallRequests(database).insert(
      callRequest({ _id: callId, toPhoneNumber: '+12025550173', requestId: 'req_1' }),
    );
    return callId;
  }

  async function trace(callId: string) {
    const { code, stdout } = await runAdmin(['calls', 'trace', callId, '--json'], { MONGODB_URI: uri });
    return { code, ...(stdout === '' ? {} : (JSON.parse(stdout) as object)) };
  }

  it('prints the ids that lead to logs, traces and the carrier', async () => {
    const callId = await requestCall();
    const known = { code: 0, call_id: callId, request_id: 'req_1', account_id: 'acct_1', mode: 'live' };
    expect(await trace(callId)).toEqual({ ...known, trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const carrierSid = newSid('CA');
    await createCarrierBindings(database).bind(callId, carrierSid, { kind: 'twilio', isCallId: () => true });
    expect(await trace(callId)).toMatchObject({ ...known, carrier_sid: carrierSid });
  });

  it('says if the call never gets a call of the carrier, and if there is no such call', async () => {
    const callId = await requestCall();
    await createCarrierBindings(database).close(callId);
    expect(await trace(callId)).toMatchObject({ carrier_sid: 'closed' });
    expect(await trace(`call_${ulid()}`)).toEqual({ code: 1 });
  });
});
