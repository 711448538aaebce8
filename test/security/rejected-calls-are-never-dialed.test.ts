import { ulid } from 'ulid';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { startCall } from '../../src/calls/placing/start-call.js';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { expectError, startService, type Service } from '../support/http/harness.js';
import { decisionsOf } from './support/call-decisions.js';
import { callRequest } from '../support/store/call-request.js';

let service: Service;
let connection: Connection;
beforeAll(async () => {
  // With this setting, the workflow would wait for its decision long after the client has got its 503.
  service = await startService({ minDeadlineMs: 0, worker: false, env: { ANSWER_WITHIN_MS: '60000' } });
  connection = await Connection.connect({ address: service.config.temporal.address });
}, 60_000);
afterAll(async () => {
  await connection.close();
  await service.close();
});

const runOf = (callId: string) => new Client({ connection }).workflow.getHandle(callId);

const order = { to_phone_number: '+12025550102', instruction: 'Hello.' };

/** Creates the document that the service stores for a requested call. */
async function newCallDocument() {
  const { account, agent } = await service.customer();
  return callRequest({
    _id: `call_${ulid()}`,
    accountId: account._id,
    toPhoneNumber: order.to_phone_number,
    agentId: agent._id,
  });
}

describe('a call whose request got a 503', () => {
  it('is not dialed when a worker finds it a moment later', async () => {
    const { account, testKey } = await service.customer();
    expectError(await service.place(testKey, order), 503, 'SERVICE_UNAVAILABLE');
    const request = await service.database.callRequests.findOne({ accountId: account._id }).lean();
    const { stop, worker } = service.startWorker();
    try {
      expect(await runOf(String(request?._id)).result()).toMatchObject({ reservation: { outcome: 'expired' } });
    } finally {
      stop.abort();
      await worker;
    }
  }, 60_000);

  it('has no workflow when too little time was left for its response', async () => {
    const { config, database, gateway } = service;
    const call = await newCallDocument();
    const starter = { config, gateway, requests: createCallRequests(database), ...decisionsOf(service) };
    await expect(startCall(starter, call, Date.now() + 390)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(runOf(call._id).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  });
});
