import { startService, type Customer, type Service } from '../support/http/harness.js';
import { createBrowser } from '../support/http/portal-support.js';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer(0);
});
afterAll(() => service.close());

interface Entry {
  action: string;
  mode: string;
  target?: string;
}

const send = async (method: string, path: string, key: string, body: object) => {
  const headers = { 'Content-Type': 'application/json' };
  const { status, json } = await service.request(path, { method, key, headers, body: JSON.stringify(body) });
  expect(status).toBe(200);
  return json;
};
const logOf = async (key: string, query = '') => {
  const { status, json } = await service.request(`/audit_log${query}`, { key });
  expect(status).toBe(200);
  return json as { data: Entry[]; next_cursor?: string };
};
const summaries = ({ data }: { data: Entry[] }) => data.map(({ action, mode }) => `${action} ${mode}`).toSorted();

describe('the audit log', () => {
  it('shows a test key only the entries of test mode', async () => {
    const { account, liveKey, testKey } = customer;
    const agent = { name: 'A', instruction: 'B' };
    const { agent_id: live } = await send('POST', '/agents', liveKey, agent);
    await send('PATCH', `/agents/${String(live)}`, liveKey, { name: 'C' });
    const { agent_id: test } = await send('POST', '/agents', testKey, agent);
    await send('PATCH', `/agents/${String(test)}`, testKey, { name: 'C' });
    await send('POST', '/api_keys', testKey, { name: 'k' });
    await send('POST', '/api_keys', liveKey, { name: 'k' });
    await send('PATCH', '/account', liveKey, { name: 'Acme' });
    // An entry in the form in which an earlier version wrote it.
    const entry = { accountId: account._id, actorKind: 'key', actorId: 'key_1', actorName: 'k', requestId: 'r' };
    await service.database.auditEntries.collection.insertOne({
      _id: 'audit_00000000000000000000000000' as never,
      createdAt: new Date(0),
      action: 'ofLongAgo',
      ...entry,
    });
    const ofTest = ['createAgent test', 'createApiKey test', 'updateAgent test'];
    expect(summaries(await logOf(testKey))).toEqual(ofTest);
    const ofLive = [
      'createAgent live',
      'createApiKey live',
      'ofLongAgo live',
      'updateAccount live',
      'updateAgent live',
    ];
    expect(summaries(await logOf(liveKey))).toEqual([...ofTest, ...ofLive].toSorted());
  });

  it('keeps live entries out of a test key’s pages, and rejects a cursor of a live key', async () => {
    const { liveKey, testKey } = customer;
    const seen: Entry[] = [];
    for (let query = '?limit=1', pages = 0; query !== '' && pages < 10; pages += 1) {
      const page = await logOf(testKey, query);
      seen.push(...page.data);
      query = page.next_cursor === undefined ? '' : `?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(seen.map(({ mode }) => mode)).toEqual(['test', 'test', 'test']);
    const { next_cursor: cursor = '' } = await logOf(liveKey, '?limit=1');
    expect(cursor).not.toBe('');
    expect((await service.request(`/audit_log?cursor=${encodeURIComponent(cursor)}`, { key: testKey })).status).toBe(
      400,
    );
  });

  it('shows members the entries of both modes, and a test key only those that change nothing live', async () => {
    const owner = createBrowser(service);
    await owner.signUp();
    const { json: made } = await owner.post('/agents?mode=live', { name: 'A', instruction: 'B' });
    expect((await owner.patch(`/agents/${String(made['agent_id'])}?mode=test`, { name: 'C' })).status).toBe(200);
    expect((await owner.post('/agents?mode=test', { name: 'A', instruction: 'B' })).status).toBe(200);
    const { json: key } = await owner.post('/api_keys?mode=test', { name: 'k' });
    const all = ['createAgent live', 'createAgent test', 'createApiKey test', 'signUp live', 'updateAgent live'];
    for (const mode of ['live', 'test']) {
      expect(summaries((await owner.get(`/audit_log?mode=${mode}`)).json as never)).toEqual(all);
    }
    expect(summaries(await logOf(String(key['secret'])))).toEqual(['createAgent test', 'createApiKey test']);
  });
});
