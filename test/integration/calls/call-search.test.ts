import { createCallProjection } from '../../../src/calls/projection.js';
import { createCallSearch } from '../../../src/calls/search/call-search.js';
import { expectError, startService, type Customer, type Service } from '../../support/http/harness.js';
import { listOf, managementOf } from '../../support/http/management-support.js';

let service: Service;
let api: ReturnType<typeof managementOf>;
let other: Customer;

beforeAll(async () => {
  service = await startService({ worker: false });
  api = managementOf(service);
  other = await service.customer();
});
afterAll(() => service.close());

describe('the search for calls', () => {
  let owner: Customer;
  const calls: Record<string, string> = {};
  const at = Date.parse('2026-11-05T10:00:00Z');
  const found = async (query: string, key = owner.liveKey) => {
    const page = listOf(await api.get(`/calls?limit=100&${query}`, key));
    return page.data.map(({ call_id: id }) => Object.keys(calls).find((name) => calls[name] === id) ?? id);
  };
  const search = (text: string, filters = '') => found(`search=${encodeURIComponent(text)}${filters}`);

  beforeAll(async () => {
    owner = await service.customer(0);
    const transcriptions = {
      cake: 'agent: Which cake?\ncaller: A Black Forest gâteau, please.',
      taxi: 'agent: Taxi central, where to?\ncaller: To the Black Bear.',
      none: '',
    };
    for (const [index, [name, transcription]] of Object.entries(transcriptions).entries()) {
      const createdAt = new Date(at + index * 1_000);
      calls[name] = await api.endedCall(owner, {
        createdAt,
        ...(transcription === '' ? {} : { transcription }),
        ...(name === 'taxi' ? { status: 'FAILED' } : {}),
      });
    }
  });

  it('finds words of the transcript, by their beginning, newest first', async () => {
    expect(await search('gateau')).toEqual(['cake']);
    expect(await search('BLACK')).toEqual(['taxi', 'cake']);
    expect(await search('bla for')).toEqual(['cake']);
    expect(await search('central cake')).toEqual([]);
    expect(await search('caller')).toEqual([]);
    expect(await search('elephant')).toEqual(['none']);
  });

  it('finds any part of a phone number, and the external id', async () => {
    expect(await search('+1 202-555-0100')).toEqual(['none', 'taxi', 'cake']);
    expect(await search('0199')).toEqual(['none', 'taxi', 'cake']);
    expect(await search('555-0198')).toEqual([]);
    expect(await search('order-4711')).toEqual(['none', 'taxi', 'cake']);
    expect(await search('4711 cake')).toEqual(['cake']);
  });

  it('finds calls in progress by number and id, and by their words once they have ended', async () => {
    const callId = await api.endedCall(owner, { mode: 'test', status: 'IN_PROGRESS' });
    await service.database.callSearch.deleteOne({ _id: callId });
    for (const text of ['0199', '4711', 'order-4711']) {
      expect(await found(`search=${text}`, owner.testKey)).toEqual([callId]);
      expect(await found(`search=${text}&status=IN_PROGRESS`, owner.testKey)).toEqual([callId]);
      expect(await found(`search=${text}&status=COMPLETED`, owner.testKey)).toEqual([]);
    }
    expect(await found('search=zebra', owner.testKey)).toEqual([]);
    const projection = createCallProjection(service.database);
    const ended = { callId, sequence: 4, at: Date.now(), status: 'COMPLETED' as const };
    for (let times = 0; times < 2; times++) await projection.apply(ended, { transcription: 'caller: Zebra!' });
    expect(await found('search=zebra', owner.testKey)).toEqual([callId]);
    expect(await found('search=0199', owner.testKey)).toEqual([callId]);
  });

  it('pages exactly over calls in progress and ended ones', async () => {
    const busy = await service.customer(0);
    const createdAt = new Date(at);
    const ids = [];
    for (let count = 0; count < 9; count++) {
      const callId = await api.endedCall(busy, {
        createdAt: count < 5 ? createdAt : new Date(at + count),
        ...(count % 2 === 0 ? { status: 'RINGING' } : {}),
      });
      if (count % 2 === 0) await service.database.callSearch.deleteOne({ _id: callId });
      ids.push(callId);
    }
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page = listOf(await api.get(`/calls?search=0199&limit=2${cursor}`, busy.liveKey));
      seen.push(...page.data.map(({ call_id: id }) => id));
      if (page.next_cursor === undefined) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual([...ids.slice(5).toReversed(), ...ids.slice(0, 5).toSorted()]);
  });

  it('combines with filters, and pages like the list', async () => {
    expect(await search('black', '&status=FAILED')).toEqual(['taxi']);
    expect(await search('black', '&to=2026-11-05T10:00:01Z')).toEqual(['cake']);
    const first = listOf(await api.get('/calls?search=black&limit=1', owner.liveKey));
    expect(first.data[0]).toMatchObject({ call_id: calls['taxi'] });
    const cursor = String(first.next_cursor);
    const second = listOf(await api.get(`/calls?search=black&limit=1&cursor=${cursor}`, owner.liveKey));
    expect(second).toMatchObject({ data: [{ call_id: calls['cake'] }], has_more: false });
    const moved = await api.get(`/calls?search=white&limit=1&cursor=${cursor}`, owner.liveKey);
    expectError(moved, 400, 'MISSING_PARAMS', /cursor/);
  });

  it('finds no call of another account or mode', async () => {
    expect(await found('search=black', other.liveKey)).toEqual([]);
    expect(await found('search=black', owner.testKey)).toEqual([]);
  });

  it('treats any text as words, and rejects one that is too long', async () => {
    for (const text of ['.*', '$wherever', '', '^', 'a'.repeat(100)]) expect(await search(text)).toEqual([]);
    const tooLong = await api.get(`/calls?search=${'a'.repeat(101)}`, owner.liveKey);
    expectError(tooLong, 400, 'MISSING_PARAMS', /search must have at most 100 characters/);
  });

  it('finds nothing of an erased call, even if a write of it arrives late', async () => {
    const callId = await api.endedCall(owner, { mode: 'test', transcription: 'caller: Quagga.' });
    const projection = createCallProjection(service.database);
    expect(await found('search=quagga', owner.testKey)).toEqual([callId]);
    await projection.erase(callId, new Date());
    await projection.apply(
      { callId, sequence: 4, at: Date.now(), status: 'COMPLETED' },
      { transcription: 'caller: Quagga.' },
    );
    expect(await found('search=quagga', owner.testKey)).toEqual([]);
    expect(await service.database.callSearch.countDocuments({ _id: callId })).toBe(0);
  });

  it('finds calls from before the search once they are indexed, and no erased ones', async () => {
    const call = { mode: 'test', transcription: 'caller: Okapi' } as const;
    const [old, erased] = [await api.endedCall(owner, call), await api.endedCall(owner, call)];
    await createCallProjection(service.database).erase(erased, new Date());
    await service.database.callSearch.deleteOne({ _id: old });
    const terms = createCallSearch(service.database);
    expect(await found('search=okapi', owner.testKey)).toEqual([]);
    expect(await terms.storeAllMissing()).toBe(1);
    expect(await found('search=okapi', owner.testKey)).toEqual([old]);
    expect(await found('search=0199', owner.testKey)).toContain(old);
    expect(await terms.storeAllMissing()).toBe(0);
  });
});
