import { readPage } from '../../src/platform/mongo/pages.js';
import { createCallQueries } from '../../src/calls/call-queries.js';
import { startService, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ worker: false });
}, 60_000);
afterAll(() => service.close());

describe('a list that takes too long to read', () => {
  it('is cancelled by the database, whatever its filter', async () => {
    const seenOptions: object[] = [];
    const { calls } = service.database;
    const spiedCollection = {
      find(filter: object, options: object) {
        seenOptions.push(options);
        return calls.collection.find(filter, options);
      },
    };
    await readPage({ collection: spiedCollection }, { filter: { accountId: 'acct', direction: 'inbound' }, limit: 20 });
    expect(seenOptions).toEqual([expect.objectContaining({ maxTimeMS: 10_000 })]);
  });

  it('is not read further once its client has gone', async () => {
    const customer = await service.customer();
    const make = managementOf(service);
    for (let n = 0; n < 3; n++) await make.endedCall(customer, { mode: 'test' });
    const queries = createCallQueries(service.database);
    const list = { accountId: customer.account._id, mode: 'test' as const, filter: {}, limit: 20 };
    expect((await queries.page(list)).items).toHaveLength(3);
    const page = queries.page({ ...list, signal: AbortSignal.abort() });
    await expect(page).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('has an index for each selective filter', async () => {
    const { calls, webhookDeliveries } = service.database;
    const fieldsOf = (indexes: { key: object }[]) => indexes.map(({ key }) => Object.keys(key).join(' '));
    const ofCalls = fieldsOf(await calls.collection.indexes());
    for (const field of ['status', 'direction', 'agentId', 'externalCallId']) {
      expect(ofCalls).toContain(`accountId mode ${field} createdAt _id`);
    }
    expect(fieldsOf(await webhookDeliveries.collection.indexes())).toContain('accountId mode state createdAt _id');
  });
});
