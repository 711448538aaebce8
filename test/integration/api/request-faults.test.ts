import { createCallRequests } from '../../../src/calls/call-requests.js';
import {
  expectError,
  startService,
  type Customer,
  type Service,
  type ServiceResponse,
} from '../../support/http/harness.js';

let service: Service;
let customer: Customer;

beforeAll(async () => {
  service = await startService();
  customer = await service.customer();
});
afterAll(() => service.close());

const TO = '+12025550100';
const WARNINGS = 'X-Callwright-Warnings';

const faultsOf = ({ json }: ServiceResponse) =>
  (json['errors'] as { param: string; code: string }[]).map(({ param, code }) => `${param} ${code}`);

function send(method: string, path: string, body: string | object): Promise<ServiceResponse> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'Content-Type': 'application/json' };
  return service.request(path, { method, key: customer.liveKey, headers, body: text });
}

describe('a rejected request', () => {
  it('names all faults of a call request at once, places no call and costs nothing', async () => {
    const before = await service.countCallRequests();
    const body = {
      to_phone_number: '0',
      webhook_url: 'http://example.com:25/',
      external_call_id: 'x'.repeat(256),
      input_parameters: {},
    };
    const answer = await service.place(customer.liveKey, body, { 'Idempotency-Key': 'x'.repeat(256) });
    expectError(answer, 400, 'MISSING_PARAMS');
    expect(faultsOf(answer).toSorted()).toEqual([
      'Idempotency-Key parameter_invalid',
      'agent_id parameter_missing',
      'external_call_id parameter_invalid',
      'input_parameters parameter_invalid',
      'to_phone_number parameter_invalid',
      'webhook_url parameter_invalid',
    ]);
    expect(Object.keys(answer.json['fields'] as object)).toHaveLength(6);
    expect(await service.countCallRequests()).toBe(before);
  });

  it.each([
    ['bad JSON', '{"to_phone_number":', 'body json_invalid'],
    ['JSON that is no object', '[]', 'body json_invalid'],
    ['a wrong format', `{"to_phone_number":"1","instruction":"x"}`, 'to_phone_number parameter_invalid'],
    ['a missing field', `{"instruction":"x"}`, 'to_phone_number parameter_missing'],
    [
      'a repeated field',
      `{"to_phone_number":"${TO}","instruction":"x","instruction":"y"}`,
      'instruction parameter_repeated',
    ],
  ])('tells %s apart', async (_name, body, fault) => {
    const answer = await send('POST', '/outbound_call', body);
    expectError(answer, 400, 'MISSING_PARAMS');
    expect(faultsOf(answer)).toEqual([fault]);
  });

  it('names the faults of headers and body together', async () => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'x'.repeat(256) };
    const body = JSON.stringify({ instruction: 'x', speed: 1 });
    const answer = await service.request('/calls', { method: 'POST', key: customer.liveKey, headers, body });
    expect(faultsOf(answer).toSorted()).toEqual([
      'Idempotency-Key parameter_invalid',
      'speed parameter_unknown',
      'to_phone_number parameter_missing',
    ]);
  });

  it('names all rules that an agent breaks', async () => {
    const agent = {
      name: 'A',
      instruction: 'B',
      voice: 'nobody',
      webhook_url: 'http://example.com:25/',
      transfer_numbers: ['+12025550100', '+112'],
      phone_number: '+12025550177',
      tools: [
        {
          name: 'find',
          description: 'x',
          method: 'GET',
          url: 'http://example.com:25/',
          parameters: '{"type":"object","properties":{}}',
        },
      ],
    };
    const params = ['phone_number', 'tools.0.url', 'transfer_numbers.1', 'voice', 'webhook_url'];
    const created = await send('POST', '/agents', agent);
    expect(faultsOf(created).toSorted()).toEqual(params.map((param) => `${param} parameter_invalid`));
    const changed = await send('PATCH', `/agents/${customer.agent._id}`, agent);
    expect(faultsOf(changed).toSorted()).toEqual(params.map((param) => `${param} parameter_invalid`));
    expect(await service.agents.find(customer.agent._id)).toMatchObject({ name: 'Reminders', voice: 'amber' });
  });

  it('has a doc_url that leads to the explanation', async () => {
    const { json } = await send('POST', '/outbound_call', '{}');
    const [fault] = json['errors'] as { doc_url: string }[];
    for (const url of [json['doc_url'] as string, fault?.doc_url ?? '']) {
      const { pathname, hash } = new URL(url);
      const page = await service.request(pathname);
      expect(page.headers.get('content-type')).toMatch(/^text\/html/);
      expect(page.text).toContain(`id="${hash.slice(1)}"`);
    }
  });

  it('has its own request id when a stored error is returned again', async () => {
    const poor = await service.customer(0);
    const place = () =>
      service.place(poor.liveKey, { to_phone_number: TO, instruction: 'x' }, { 'Idempotency-Key': 'k' });
    const [first, again] = [await place(), await place()];
    expectError(first, 402, 'INSUFFICIENT_BALANCE');
    expectError(again, 402, 'INSUFFICIENT_BALANCE');
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.json).toEqual({ ...first.json, request_id: again.headers.get('x-request-id') });
  });
});

describe('GET /outbound_call', () => {
  it('explains both of its uses when parameters are missing', async () => {
    const answer = await service.request('/outbound_call', { key: customer.liveKey });
    expectError(answer, 400, 'MISSING_PARAMS', /call_id to read the status of a call, or to_phone_number and agent_id/);
    expect(faultsOf(answer)).toEqual(['to_phone_number parameter_missing', 'agent_id parameter_missing']);
  });

  it('places a call when it is complete, and names parameters that it ignores', async () => {
    const query = new URLSearchParams({ to_phone_number: TO, agent_id: customer.agent._id, instruction: 'Hi.' });
    const answer = await service.request(`/outbound_call?${query.toString()}`, { key: customer.liveKey });
    expect(answer.json['status']).toBe('RINGING');
    expect(answer.headers.get(WARNINGS)).toBe('unknown_fields=instruction');
  });
});

describe('unknown fields of a call request', () => {
  it('are named in a header and in the timeline of the call until it is erased, and not in the body', async () => {
    const body = { to_phone_number: TO, agent_id: customer.agent._id, extrenal_call_id: 'x', 'a b': 1 };
    const answer = await service.place(customer.liveKey, body);
    expect(answer.headers.get(WARNINGS)).toBe('unknown_fields=extrenal_call_id,a%20b');
    expect(Object.keys(answer.json)).toEqual(['success', 'call_id', 'status', 'message']);
    const callId = answer.json['call_id'] as string;
    const read = async () => (await service.request(`/calls/${callId}`, { key: customer.liveKey })).json['timeline'];
    const warning = { event: 'unknown_fields_ignored', details: { fields: 'extrenal_call_id, a%20b' } };
    expect(await read()).toEqual(expect.arrayContaining([expect.objectContaining(warning)]));
    await createCallRequests(service.database).erase(callId);
    expect(await read()).not.toEqual(expect.arrayContaining([expect.objectContaining({ event: warning.event })]));
  });

  it('are named when the request is rejected, since a misspelt field may be the reason', async () => {
    const answer = await service.place(customer.liveKey, { to_phone_numbr: TO, agent_id: customer.agent._id });
    expectError(answer, 400, 'MISSING_PARAMS', /to_phone_number is required/);
    expect(answer.headers.get(WARNINGS)).toBe('unknown_fields=to_phone_numbr');
  });

  it('are named 20 at most', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field_${index}`, null]));
    const answer = await service.place(customer.liveKey, unknown);
    expect(answer.headers.get(WARNINGS)?.length).toBeLessThan(1_024);
    expect(answer.headers.get(WARNINGS)).toMatch(/; omitted=40$/);
  });
});
