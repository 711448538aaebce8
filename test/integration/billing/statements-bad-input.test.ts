import { expectError, startService, type Service } from '../../support/http/harness.js';
import { pageOf, statementsOf, usageOf } from '../../support/http/statements-support.js';

let service: Service;
let key: string;
let cursor: string;
beforeAll(async () => {
  service = await startService({ worker: false });
  const customer = await service.customer();
  await statementsOf(service).billCall(customer, 5);
  key = customer.liveKey;
  cursor = pageOf(await get('/ledger?limit=1')).next_cursor ?? '';
});
afterAll(() => service.close());

const get = (path: string) => service.request(path, { key });

describe('bad input of statements', () => {
  it.each(['101', '1000000000', '9'.repeat(400), '0100'])('treats limit=%s as 100', async (limit) => {
    const { data } = pageOf(await get(`/ledger?limit=${limit}`));
    expect(data).toHaveLength(3);
  });

  it.each([
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=1e9',
    'limit=ten',
    'limit=',
    'limit=5&limit=6',
    'limit[]=5',
    'cursor=',
    'cursor=abc',
    `cursor=${'a'.repeat(600)}`,
    'cursor=a&cursor=b',
    'cursor[$gt]=',
    'from=yesterday',
    'from=',
    'from=2026-02-30',
    'from=2026-13-01',
    'from=2026-01-01T25:00:00Z',
    'from=2026-01-01T00:00:00',
    'from=2026-01-01T00:00:00%2B02:00',
    'from=1700000000',
    'from=2026-01-01&from=2026-01-02',
    'from[$gt]=2026-01-01',
    'from=2026-01-02&to=2026-01-01',
    'from=2026-01-01&to=2026-01-01',
    'format=xml',
    'format=csv&limit=5',
    `format=csv&cursor=abc`,
    'id[$ne]=x',
    'modus=test',
    'account_id=acct_other',
    '__proto__=1',
    'constructor=1',
    'form=2026-01-01',
    'from=%00',
  ])('rejects GET /ledger?%s with 400 MISSING_PARAMS', async (query) => {
    expectError(await get(`/ledger?${query}`), 400, 'MISSING_PARAMS');
  });

  it('rejects a cursor that was changed anywhere with 400', async () => {
    for (let i = 0; i < cursor.length; i++) {
      const changed = `${cursor.slice(0, i)}${cursor[i] === 'A' ? 'B' : 'A'}${cursor.slice(i + 1)}`;
      expectError(await get(`/ledger?cursor=${changed}`), 400, 'MISSING_PARAMS', /cursor/);
    }
    for (const changed of [`${cursor}.`, `${cursor}A`, cursor.slice(0, -1), `.${cursor}`]) {
      expectError(await get(`/ledger?cursor=${changed}`), 400, 'MISSING_PARAMS', /cursor/);
    }
  });

  it.each([
    '',
    'group_by=',
    'group_by=month',
    'group_by=day&group_by=agent',
    'group_by[$ne]=day',
    'group_by=day&from=2026-01-01&to=2027-01-03',
    'group_by=day&from=2020-01-01',
    'group_by=day&to=0001-01-01',
    'group_by=day&limit=5',
    'group_by=day&from=9999-99-99',
    'group_by=day&format=json&format=csv',
  ])('rejects GET /usage?%s with 400, or returns no data', async (query) => {
    const answer = await get(`/usage?${query}`);
    if (query === 'group_by=day&to=0001-01-01') expect(usageOf(answer).data).toEqual([]);
    else expectError(answer, 400, 'MISSING_PARAMS');
  });

  it('accepts a period of 366 days and rejects a longer one', async () => {
    expect((await get('/usage?group_by=day&from=2026-01-01&to=2027-01-02')).status).toBe(200);
    expectError(
      await get('/usage?group_by=day&from=2026-01-01&to=2027-01-02T00:00:00.001Z'),
      400,
      'MISSING_PARAMS',
      /366/,
    );
  });
});
