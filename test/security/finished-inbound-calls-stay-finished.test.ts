import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { DELETED_WITHIN_MS } from '../support/deleted-workflows.js';
import { eventually, startService, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';

let service: Service;
let connection: Connection;
beforeAll(async () => {
  service = await startService({ env: REAL_CARRIER });
  connection = await Connection.connect({ address: service.config.temporal.address });
}, 120_000);
afterAll(async () => {
  await connection.close();
  await service.close();
});

async function isRunKnown(callId: string): Promise<boolean> {
  try {
    await new Client({ connection }).workflow.getHandle(callId).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

describe('a finished inbound call that Temporal has deleted', () => {
  it('is not started again by its CallSid: nothing is held, and its record does not change', async () => {
    const { agent } = await service.customer();
    const form = { CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199' };
    const sendInboundCall = () => service.carrierPost(`/inbound_call?agent_id=${agent._id}`, form);
    const first = await eventually(async () => {
      const response = await sendInboundCall();
      return response.text.includes('<Stream') && response;
    });
    const [callId = ''] = /call_[0-9A-Z]{26}/.exec(first.text) ?? [];
    const workflowExecution = { workflowId: callId };
    const { namespace } = service.config.temporal;
    await connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await eventually(async () => !(await isRunKnown(callId)), DELETED_WITHIN_MS);
    await service.database.calls.updateOne({ _id: callId }, { $set: { status: 'COMPLETED', sequence: 9 } });
    const record = await service.database.calls.findById(callId).lean();

    expect((await sendInboundCall()).text).toBe(first.text);
    expect(await isRunKnown(callId)).toBe(false);
    expect(await service.database.calls.findById(callId).lean()).toEqual(record);
  }, 240_000);
});

describe('a rejected inbound call that Temporal has deleted', () => {
  it('is rejected again and not started again by its CallSid', async () => {
    const { agent, account } = await service.customer();
    await service.accounts.setLimits(account._id, { concurrentCalls: 1 });
    const send = async (CallSid: string) => {
      const form = { CallSid, From: '+12025550143', To: '+12025550199' };
      const { text } = await service.carrierPost(`/inbound_call?agent_id=${agent._id}`, form);
      return { CallSid, isRejected: text.includes('<Reject') };
    };
    // Of several calls at once, all but one are rejected, some of them only after their workflow has started.
    const rejected = await eventually(async () => {
      const responses = await Promise.all(Array.from({ length: 6 }, () => send(newSid('CA'))));
      const carrierSid = { $in: responses.filter(({ isRejected }) => isRejected).map(({ CallSid }) => CallSid) };
      const found = await service.database.carrierBindings
        // A call may also be rejected because its decision took too long on a busy machine; that is not stored.
        .findOne({ carrierSid, rejection: { $exists: true } })
        .lean<{ _id: string; carrierSid: string }>();
      await service.database.leases.deleteMany({});
      return found !== null && (await isRunKnown(found._id)) && found;
    });
    const { namespace } = service.config.temporal;
    const workflowExecution = { workflowId: rejected._id };
    await connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await eventually(async () => !(await isRunKnown(rejected._id)), DELETED_WITHIN_MS);

    expect((await send(rejected.carrierSid)).isRejected).toBe(true);
    expect(await isRunKnown(rejected._id)).toBe(false);
  }, 240_000);
});
