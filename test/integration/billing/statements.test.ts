import { newCallId } from '../../support/store/test-database.js';
import { expectError, startService, type Service } from '../../support/http/harness.js';
import { idOf, pageOf, statementsOf, sumOf, usageOf, type Entry } from '../../support/http/statements-support.js';

const SECOND = 2_500;

let service: Service;
let statements: ReturnType<typeof statementsOf>;
beforeAll(async () => {
  service = await startService({ worker: false });
  statements = statementsOf(service);
});
afterAll(() => service.close());

type Tools = ReturnType<typeof statementsOf>;
const get: Tools['get'] = (...args) => statements.get(...args);
const billCall: Tools['billCall'] = (...args) => statements.billCall(...args);
const readAll: Tools['readAll'] = (...args) => statements.readAll(...args);
const nameAgent: Tools['nameAgent'] = (...args) => statements.nameAgent(...args);

describe('GET /balance', () => {
  it('returns what is available, held, credited and billed, in USD and in micro-USD', async () => {
    const customer = await service.customer(10_000_000);
    await billCall(customer, 47);
    await statements.ledger.hold({
      ledgerAccountId: idOf(customer),
      callId: newCallId(),
      window: 0,
      maxDurationSeconds: 60,
      microsPerSecond: SECOND,
    });
    const answer = await get('/balance', customer.liveKey);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.json).toEqual({
      mode: 'live',
      currency: 'USD',
      available: 9.7325,
      available_micros: 9_732_500,
      held: 0.15,
      held_micros: 150_000,
      credited: 10,
      credited_micros: 10_000_000,
      billed: 0.1175,
      billed_micros: 117_500,
    });
    expect((await get('/balance', customer.testKey)).json).toMatchObject({
      mode: 'test',
      available_micros: 1_000_000_000,
      held_micros: 0,
      billed_micros: 0,
    });
  });

  it.each(['/balance', '/ledger', '/usage?group_by=day'])('%s needs a key and is read-only', async (path) => {
    expectError(await service.request(path), 401, 'UNAUTHORIZED');
    const { liveKey } = await service.customer(0);
    expectError(await service.request(path, { key: liveKey, method: 'POST' }), 405, 'METHOD_NOT_ALLOWED');
  });
});

describe('GET /ledger', () => {
  it('lists top-ups, holds, rejected holds and settlements, newest first, with what each changed', async () => {
    const customer = await service.customer(60 * SECOND);
    const callId = await billCall(customer, 10);
    const rejectedCallId = newCallId();
    await statements.ledger.hold({
      ledgerAccountId: idOf(customer),
      callId: rejectedCallId,
      window: 0,
      maxDurationSeconds: 60,
      microsPerSecond: SECOND,
    });
    const { data, has_more: more } = pageOf(await get('/ledger', customer.liveKey));
    expect(more).toBe(false);
    expect(data.map(({ type }) => type)).toEqual(['refusal', 'settlement', 'hold', 'top_up']);
    expect(data[0]).toMatchObject({
      call_id: rejectedCallId,
      window: 0,
      reason: 'INSUFFICIENT_BALANCE',
      available_micros: 0,
      held_micros: 0,
    });
    expect(data[1]).toEqual({
      id: `S${callId}`,
      type: 'settlement',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      call_id: callId,
      billed_seconds: 10,
      available: 0.125,
      available_micros: 125_000,
      held: -0.15,
      held_micros: -150_000,
      credited: 0,
      credited_micros: 0,
      billed: 0.025,
      billed_micros: 25_000,
    });
    expect(data[2]).toMatchObject({ call_id: callId, window: 0, available_micros: -150_000, held_micros: 150_000 });
    expect(data[3]).toMatchObject({ payment_id: expect.any(String) as string, credited_micros: 150_000 });
  });

  it('shows the billed seconds, not those requested beyond the hold', async () => {
    const customer = await service.customer();
    await billCall(customer, 1_000);
    expect(pageOf(await get('/ledger', customer.liveKey)).data[0]).toMatchObject({ billed_seconds: 60 });
  });

  it('includes entries that are only in the account document, each once', async () => {
    const customer = await service.customer();
    const callIds: string[] = [];
    for (let i = 0; i < 5; i++) callIds.push(await billCall(customer, i + 1));
    // Deletes ledger entries, as if each process had died after it updated the account document and before it inserted
    // the entry.
    await service.database.ledgerEntries.deleteMany({ callId: { $in: callIds.filter((_id, i) => i % 2 === 1) } });
    await service.database.ledgerEntries.deleteMany({ _id: `S${callIds[4]}` });
    for (const limit of [1, 2, 3, 100]) {
      const entries = await readAll(customer.liveKey, '', limit);
      expect(entries.map(({ id }) => id)).toEqual([
        ...callIds.toReversed().flatMap((id) => [`S${id}`, `H${id}~0`]),
        expect.stringMatching(/^T/),
      ]);
    }
    expect(usageOf(await get('/usage?group_by=day', customer.liveKey)).total).toMatchObject({ calls: 5, seconds: 15 });
    const before = await readAll(customer.liveKey);
    await service.database.ledgerEntries.deleteMany({ ledgerAccountId: idOf(customer) });
    expect(await readAll(customer.liveKey, '', 4)).toEqual(before);
    await statements.ledger.sweep(idOf(customer));
    expect(await readAll(customer.liveKey)).toEqual(before);
  });

  it('keeps its cursors while new entries arrive: each earlier entry comes exactly once', async () => {
    const customer = await service.customer();
    for (let i = 0; i < 10; i++) await billCall(customer, 5);
    const before = await readAll(customer.liveKey);
    const seen: Entry[] = [];
    for (let cursor = ''; ;) {
      const page = pageOf(await get(`/ledger?limit=4${cursor}`, customer.liveKey));
      seen.push(...page.data);
      await billCall(customer, 5);
      await statements.ledger.sweep(idOf(customer));
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(before);
  });

  it('is filtered by period: from is inclusive, to is exclusive', async () => {
    const customer = await service.customer();
    for (let i = 0; i < 3; i++) {
      await billCall(customer, 5);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const all = await readAll(customer.liveKey);
    const at = all.find(({ type }) => type === 'settlement')?.at ?? '';
    const [since, until] = [
      await readAll(customer.liveKey, `&from=${at}`),
      await readAll(customer.liveKey, `&to=${at}`),
    ];
    expect([...since, ...until]).toEqual(all);
    expect(since.at(-1)?.at).toBe(at);
    expect(until.every((entry) => entry.at < at)).toBe(true);
    expect(await readAll(customer.liveKey, '&from=2020-01-01&to=2020-01-02')).toEqual([]);
  });

  it('pages exactly over thousands of entries whose sum is the balance', async () => {
    const customer = await service.customer(1_000_000_000);
    const calls = Array.from({ length: 600 }, (_, i) => i % 60);
    const workers = Array.from({ length: 6 }, async () => {
      for (let seconds = calls.pop(); seconds !== undefined; seconds = calls.pop()) {
        await statements.ledger.hold({
          ledgerAccountId: idOf(customer),
          callId: newCallId(),
          window: 0,
          maxDurationSeconds: 60,
          microsPerSecond: SECOND,
        });
        await billCall(customer, seconds);
      }
    });
    await Promise.all(workers);
    const entries = await readAll(customer.liveKey);
    expect(entries).toHaveLength(1 + 600 * 3);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
    expect(entries.map(({ at }) => at)).toEqual(
      entries
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    const { json: balance } = await get('/balance', customer.liveKey);
    expect(balance).toMatchObject(sumOf(entries));

    const usage = usageOf(await get('/usage?group_by=day', customer.liveKey));
    const billed = entries.filter(({ billed_micros: micros }) => micros > 0);
    expect(usage.total).toEqual({
      calls: billed.length,
      seconds: billed.reduce((sum, entry) => sum + (entry.billed_seconds ?? 0), 0),
      cost: Number(balance['billed']),
      cost_micros: balance['billed_micros'],
    });
    expect(usage.total.seconds).toBe(10 * ((59 * 60) / 2));

    const csv = await get('/ledger?format=csv', customer.liveKey);
    expect(
      csv.text
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',')[0]),
    ).toEqual(entries.map(({ id }) => id));
  }, 180_000);
});

describe('GET /usage', () => {
  it('sums what was billed by UTC day in the period, minus corrections', async () => {
    const customer = await service.customer();
    const [first, second] = [await billCall(customer, 20), await billCall(customer, 30)];
    await billCall(customer, 0);
    await statements.ledger.sweep(idOf(customer));
    const day = 86_400_000;
    const at = (days: number) => new Date(Date.UTC(2026, 2, 1) + days * day);
    await service.database.ledgerEntries.updateOne({ _id: `S${first}` }, { at: new Date(at(1).getTime() - 1) });
    await service.database.ledgerEntries.updateOne({ _id: `S${second}` }, { at: at(1) });
    await service.database.ledgerEntries.collection.insertOne({
      _id: `C${second}~0` as never,
      ledgerAccountId: idOf(customer),
      type: 'correction',
      callId: second,
      amountMicros: 2 * SECOND,
      epoch: 0,
      at: at(1),
    });
    const read = async (period: string) =>
      usageOf(await get(`/usage?group_by=day&${period}`, customer.liveKey)).data.map(Object.values);
    expect(await read('from=2026-03-01&to=2026-04-01')).toEqual([
      ['2026-03-01', 1, 20, 0.05, 50_000],
      ['2026-03-02', 1, 28, 0.07, 70_000],
    ]);
    expect(await read('from=2026-03-02&to=2026-03-03')).toEqual([['2026-03-02', 1, 28, 0.07, 70_000]]);
    expect(await read('from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z')).toEqual([
      ['2026-03-01', 1, 20, 0.05, 50_000],
    ]);
    expect(await read('from=2026-03-03&to=2026-03-04')).toEqual([]);
  });

  it('counts whole seconds at any rate and when a correction returns a part of a second', async () => {
    const customer = await service.customer();
    const ledgerAccountId = idOf(customer);
    const [callId] = [await billCall(customer, 10), await billCall(customer, 7, 'live', 833)];
    const correct = (number: number, amountMicros: number) =>
      statements.ledger.correct({ ledgerAccountId, callId, number, amountMicros, reason: `${number}` });
    const total = async () => usageOf(await get('/usage?group_by=day', customer.liveKey)).total;
    expect(await total()).toEqual({ calls: 2, seconds: 17, cost: 0.030831, cost_micros: 30_831 });
    await correct(1, 1_000);
    expect(await total()).toMatchObject({ seconds: 17, cost: 0.029831 });
    await correct(2, 1_500);
    expect(await total()).toMatchObject({ seconds: 16, cost: 0.028331 });
    await correct(3, 22_500);
    expect(await total()).toEqual({ calls: 2, seconds: 7, cost: 0.005831, cost_micros: 5_831 });
  });

  it('groups by agent: name of each, temporary agents together, most expensive first', async () => {
    const customer = await service.customer();
    const { _id: agentId } = customer.agent;
    const agents = [agentId, agentId, 'agent_tmp_A', 'agent_tmp_B', undefined];
    for (const [i, agent] of agents.entries()) {
      const callId = await billCall(customer, 10 + i);
      if (agent) await nameAgent(customer, callId, agent);
    }
    const { data, total } = usageOf(await get('/usage?group_by=agent', customer.liveKey));
    expect(data).toEqual([
      { agent_id: 'temporary', calls: 2, seconds: 25, cost: 0.0625, cost_micros: 62_500 },
      { agent_id: agentId, agent_name: 'Reminders', calls: 2, seconds: 21, cost: 0.0525, cost_micros: 52_500 },
      { agent_id: 'unknown', calls: 1, seconds: 14, cost: 0.035, cost_micros: 35_000 },
    ]);
    expect(total).toEqual({ calls: 5, seconds: 60, cost: 0.15, cost_micros: 150_000 });
  });

  it('covers the last 30 UTC days by default', async () => {
    const { liveKey } = await service.customer(0);
    const { json } = await get('/usage?group_by=day', liveKey);
    const today = Math.floor(Date.parse(String(json['to'])) / 86_400_000);
    expect(Date.parse(String(json['from']))).toBe((today - 29) * 86_400_000);
    expect(json).toMatchObject({ mode: 'live', currency: 'USD', group_by: 'day', data: [], total: { cost_micros: 0 } });
  });
});

describe('CSV', () => {
  it('is sent for Accept: text/csv or format=csv, with a header line and CRLF', async () => {
    const customer = await service.customer(1_000_000);
    const callId = await billCall(customer, 10);
    const byAccept = await get('/ledger', customer.liveKey, { Accept: 'text/csv' });
    expect(byAccept.status).toBe(200);
    expect(byAccept.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(byAccept.headers.get('content-disposition')).toBe('attachment; filename="ledger.csv"');
    expect(byAccept.headers.get('vary')).toMatch(/Accept/);
    const [header, ...lines] = byAccept.text.split('\r\n');
    expect(header).toBe(
      'id,type,at,call_id,payment_id,window,billed_seconds,reason,available,available_micros,held,held_micros,credited,credited_micros,billed,billed_micros',
    );
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(
      new RegExp(`^S${callId},settlement,[^,]+Z,${callId},,,10,,0.125,125000,-0.15,-150000,0,0,0.025,25000$`),
    );
    expect(lines.at(-1)).toBe('');
    expect((await get('/ledger?format=csv', customer.liveKey)).text).toBe(byAccept.text);
    const usage = await get('/usage?group_by=day&format=csv', customer.liveKey);
    expect(usage.text).toMatch(/^day,calls,seconds,cost,cost_micros\r\n\d{4}-\d\d-\d\d,1,10,0.025,25000\r\n$/);
  });

  it.each(['application/json', '*/*', 'text/html', 'nonsense', 'text/csv;q=0.5, application/json'])(
    'is not sent for Accept: %s',
    async (accept) => {
      const { liveKey } = await service.customer(0);
      const answer = await get('/ledger', liveKey, { Accept: accept });
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      const asked = await get('/ledger?format=json', liveKey, { Accept: 'text/csv' });
      expect(asked.headers.get('content-type')).toMatch(/^application\/json/);
    },
  );

  it('escapes names that a spreadsheet would execute', async () => {
    const customer = await service.customer();
    await service.agents.update(customer.agent._id, { name: '=HYPERLINK("http://evil.test","x")' });
    await nameAgent(customer, await billCall(customer, 10), customer.agent._id);
    const { text } = await get('/usage?group_by=agent&format=csv', customer.liveKey);
    expect(text.split('\r\n')[1]).toBe(
      `${customer.agent._id},"'=HYPERLINK(""http://evil.test"",""x"")",1,10,0.025,25000`,
    );
  });
});

describe('accounts and modes', () => {
  it('never see each other’s money, entries or usage', async () => {
    const [one, other] = [await service.customer(1_000_000), await service.customer(2_000_000)];
    await nameAgent(one, await billCall(one, 11), one.agent._id);
    await billCall(one, 12, 'test');
    await billCall(other, 13);
    const rows: [string, number, number][] = [
      [one.liveKey, 1_000_000, 11],
      [one.testKey, 1_000_000_000, 12],
      [other.liveKey, 2_000_000, 13],
      [other.testKey, 1_000_000_000, 0],
    ];
    for (const [key, credited, seconds] of rows) {
      expect((await get('/balance', key)).json).toMatchObject({
        credited_micros: credited,
        billed_micros: seconds * SECOND,
      });
      const entries = await readAll(key);
      expect(sumOf(entries)).toMatchObject({ credited_micros: credited, billed_micros: seconds * SECOND });
      for (const grouping of ['day', 'agent']) {
        const { total } = usageOf(await get(`/usage?group_by=${grouping}`, key));
        expect(total).toMatchObject({ seconds, calls: seconds > 0 ? 1 : 0 });
      }
      const csv = await get('/ledger?format=csv', key);
      expect(csv.text.split('\r\n')).toHaveLength(entries.length + 2);
    }
  });

  it('cannot continue each other’s lists', async () => {
    const customer = await service.customer();
    await billCall(customer, 5);
    await billCall(customer, 5, 'test');
    const { next_cursor: cursor } = pageOf(await get('/ledger?limit=1', customer.liveKey));
    expect((await get(`/ledger?cursor=${cursor}`, customer.liveKey)).status).toBe(200);
    expectError(await get(`/ledger?cursor=${cursor}`, customer.testKey), 400, 'MISSING_PARAMS', /cursor/);
    const otherCustomer = await service.customer();
    expectError(await get(`/ledger?cursor=${cursor}`, otherCustomer.liveKey), 400, 'MISSING_PARAMS', /cursor/);
  });
});
