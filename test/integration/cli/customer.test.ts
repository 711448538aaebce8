import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';
import { runCli } from './support/run-cli.js';

type Fields = Record<string, unknown>;

const NOWHERE = 'http://127.0.0.1:2';

describe('callwright, with an API key', () => {
  let service: Service;
  let management: ReturnType<typeof managementOf>;
  let customer: Customer;
  let env: NodeJS.ProcessEnv;
  let folder: string;
  beforeAll(async () => {
    service = await startService();
    management = managementOf(service);
    folder = await mkdtemp(join(tmpdir(), 'callwright-customer-'));
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    customer = await service.customer();
    env = { CALLWRIGHT_URL: service.baseUrl, CALLWRIGHT_API_KEY: customer.liveKey, CALLWRIGHT_DATA_DIR: folder };
  });

  /** Runs a command that must succeed, and parses the JSON that it prints. */
  async function json<T = Fields>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await runCli([...args, '--json'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  /** Runs a command that must fail. Returns its exit code and its error object. */
  async function failure(args: string[], environment = env): Promise<Fields & { code: number }> {
    const { code, stdout, stderr } = await runCli([...args, '--json'], environment);
    expect(stdout).toBe('');
    return { code, ...(JSON.parse(stderr) as Fields) };
  }

  async function text(args: string[], environment = env): Promise<string> {
    const { code, stdout, stderr } = await runCli(args, environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }

  describe('agents', () => {
    it('are created, listed, read, changed and archived, as the API shows them', async () => {
      const given = ['--name', 'Amber', '--instruction', 'Be polite.', '--max-duration', '120', '--no-ai-disclosure'];
      const created = await json('agents', 'create', ...given, '--webhook-url', 'https://example.com/hook');
      expect(created).toMatchObject({ name: 'Amber', max_duration_seconds: 120, ai_disclosure: false });
      const id = String(created.agent_id);
      expect(await json('agents', 'get', id)).toEqual(created);
      expect((await json<{ data: Fields[] }>('agents', 'list')).data).toContainEqual(created);
      const changed = await json('agents', 'update', id, '--name', 'Jade', '--clear', 'webhook-url');
      expect(changed).toMatchObject({ name: 'Jade' });
      expect(changed).not.toHaveProperty('webhook_url');
      expect(await json('agents', 'archive', id)).toHaveProperty('archived_at');
      const { data } = await json<{ data: Fields[] }>('agents', 'list');
      expect(data.map(({ agent_id: each }) => each)).not.toContain(id);
      expect((await json<{ data: Fields[] }>('agents', 'list', '--archived')).data).toHaveLength(1);
    });

    it('are rejected with the name of the invalid option', async () => {
      const bad = ['agents', 'create', '--name', 'A', '--instruction', 'B', '--max-duration', '29'];
      const { code, stderr } = await runCli(bad, env);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/^error: --max-duration: /) as string,
      });
      expect(await failure(bad)).toMatchObject({ code: 2, error_code: 'MISSING_PARAMS', fields: {} });
    });

    it('use the voices and languages that are listed', async () => {
      expect(await json('voices')).toMatchObject({ default_engine: 'offline-demo' });
      expect(await text(['voices'])).toMatch(/│ amber +│ .* │ offline-demo │ en-US +│/);
      expect(await text(['languages'])).toMatch(/│ en-US +│/);
    });
  });

  it('adds, lists and removes numbers and assigns them to an agent', async () => {
    const number = '+12025550151';
    expect(await json('numbers', 'add', number)).toMatchObject({ phone_number: number });
    const agent = customer.agent._id;
    expect(await json('numbers', 'agent', number, agent)).toMatchObject({ agent_id: agent, active_agent_id: agent });
    expect(await json('numbers', 'list')).toMatchObject({ data: [{ phone_number: number }], has_more: false });
    expect(await json('numbers', 'agent', number, 'none')).not.toHaveProperty('agent_id');
    expect(await json('numbers', 'remove', number)).toMatchObject({ phone_number: number });
    expect(await json('numbers', 'list')).toMatchObject({ data: [] });
    const { stderr } = await runCli(['numbers', 'add', '2025550151'], env);
    expect(stderr).toMatch(/^error: <phone_number>: phone_number must be in E.164 format/);
  });

  it('creates, shows once, renames and revokes keys; with a revoked key it exits 4 and names the key file', async () => {
    const created = await json('keys', 'create', '--name', 'ci', '--expires', '30d');
    const id = String(created.key_id);
    const file = join(folder, 'key.txt');
    await writeFile(file, `${String(created.secret)}\n`);
    expect(await text(['balance', '--api-key-file', file])).toContain('10.00 USD');
    expect(await json('keys', 'rename', id, 'worker')).toMatchObject({ name: 'worker', state: 'active' });
    const listed = JSON.stringify(await json('keys', 'list'));
    expect(listed).toContain(id);
    expect(listed).not.toContain(String(created.secret).slice(12, -4));
    expect(await json('keys', 'revoke', id)).toMatchObject({ state: 'revoked' });
    expect(await failure(['balance', '--api-key-file', file])).toMatchObject({ code: 4, error_code: 'UNAUTHORIZED' });
    const { stderr } = await runCli(['balance', '--api-key-file', file], env);
    expect(stderr).toContain(file);
  });

  it('shows money as a table, as the JSON of the API and as CSV', async () => {
    expect(await json('balance')).toMatchObject({ mode: 'live', available: 10, available_micros: 10_000_000 });
    expect(await json('ledger')).toMatchObject({ data: [{ type: 'top_up' }], has_more: false });
    expect(await text(['ledger'])).toMatch(/│ top_up +│ .*│ 10\.00 +│/);
    expect(await text(['ledger', '--csv'])).toMatch(/^id,type,at,call_id,.*\r\n.*,top_up,/);
    expect(await json('usage', '--group-by', 'agent')).toMatchObject({
      group_by: 'agent',
      data: [],
      total: { calls: 0 },
    });
    expect(await text(['usage', '--csv'])).toBe('day,calls,seconds,cost,cost_micros\r\n');
    expect(await failure(['ledger', '--csv'])).toMatchObject({ code: 2 });
    expect((await runCli(['usage', '--from', 'soon'], env)).stderr).toMatch(/^error: --from: /);
  });

  describe('calls', () => {
    it('are listed by filter, up to a limit or all pages', async () => {
      const ids: string[] = [];
      for (let count = 0; count < 5; count++) ids.unshift(await management.endedCall(customer));
      type List = { data: Fields[]; has_more: boolean; next_cursor?: string };
      const idsOf = ({ data }: List) => data.map(({ call_id: id }) => id);
      const first = await json<List>('calls', 'list', '--limit', '2');
      expect([idsOf(first), first.has_more]).toEqual([ids.slice(0, 2), true]);
      const rest = await json<List>('calls', 'list', '--limit', '3', '--cursor', String(first.next_cursor));
      expect([idsOf(rest), rest.has_more]).toEqual([ids.slice(2), false]);
      expect(idsOf(await json<List>('calls', 'list', '--all'))).toEqual(ids);
      expect((await json<List>('calls', 'list', '--status', 'FAILED')).data).toEqual([]);
      expect((await json<List>('calls', 'list', '--external-call-id', 'order-4711')).data).toHaveLength(5);
      expect(await text(['calls', 'list', '--limit', '1'])).toMatch(
        /COMPLETED \(callee_hangup\).*to \+12025550100.*\n.*\nMore entries exist/,
      );
    });

    it('are shown with details, without control characters that could affect the terminal', async () => {
      const id = await management.endedCall(customer, { transcription: 'caller: \u001b[31mred\u0007' });
      expect(await json('calls', 'get', id)).toMatchObject({ call_id: id, cost_micros: 25_000 });
      const shown = await text(['calls', 'get', id]);
      expect(shown).toMatch(/cost +0\.025 USD/);
      expect(shown).toMatch(/│ call +│ IN_PROGRESS +│/);
      expect(shown).toContain('\u{fffd}[31mred\u{fffd}');
      expect(shown).not.toContain('\u001b');
    });

    it('are shown from their beginning by tail, which exits if they have ended', async () => {
      const id = await management.endedCall(customer);
      const lines = (await text(['calls', 'tail', id])).trim().split('\n');
      expect(lines.map((line) => line.slice(14).replace(/ +/g, ' '))).toEqual(
        expect.arrayContaining(['call RINGING', 'call IN_PROGRESS', 'call COMPLETED end_reason=callee_hangup']),
      );
      expect(lines.at(-2)).toBe('COMPLETED (callee_hangup), 10 s, 0.025 USD');
      const objects = (await text(['calls', 'tail', id, '--json'])).trim().split('\n');
      const types = objects.map((line) => (JSON.parse(line) as Fields).type);
      expect(types.slice(0, -1).every((type) => type === 'event')).toBe(true);
      expect(types.at(-1)).toBe('call');
    });

    it('are placed once for an idempotency key, and --wait exits 1 if the call is not COMPLETED', async () => {
      env.CALLWRIGHT_API_KEY = customer.testKey;
      const place = ['calls', 'create', '--to', '+12025550100', '--agent', customer.agent._id];
      const [first, second] = [
        await json(...place, '--idempotency-key', 'k'),
        await json(...place, '--idempotency-key', 'k'),
      ];
      expect(second.call_id).toBe(first.call_id);
      expect(first).toMatchObject({ to_phone_number: '+12025550100', mode: 'test' });
      // No carrier runs in this test, so the call fails.
      const { code, stdout, stderr } = await runCli([...place, '--param', 'customer=Ada', '--wait', '--json'], env);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ status: 'FAILED', input_parameters: '{"customer":"Ada"}' });
      expect(JSON.parse(stderr)).toMatchObject({ error_code: 'CALL_NOT_COMPLETED', status: 'FAILED' });
    });

    it('cannot be cancelled after they have ended: exit 1 with how they ended', async () => {
      const id = await management.endedCall(customer);
      expect(await failure(['calls', 'cancel', id])).toEqual({
        code: 1,
        success: false,
        message: 'The call is COMPLETED (callee_hangup).',
        error_code: 'CALL_ENDED',
        status: 'COMPLETED',
        end_reason: 'callee_hangup',
        doc_url: expect.stringMatching(/#call_ended$/),
        request_id: expect.any(String),
      });
    });

    it.each([
      ['neither agent nor instruction', ['--to', '+12025550100'], /--agent/],
      ['an invalid number', ['--to', '12', '--agent', 'x'], /^error: --to: to_phone_number must be in E\.164/],
      [
        'a parameter without a value',
        ['--to', '+12025550100', '--agent', 'x', '--param', 'a'],
        /--param a must have the form/,
      ],
      ['no number', ['--agent', 'x'], /--to/],
    ])('are rejected with %s, exit 2', async (_name, options, sentence) => {
      const { code, stderr } = await runCli(['calls', 'create', ...options], env);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) as string });
    });

    it('start in a browser, with an agent, an instruction or a draft of an agent from a file', async () => {
      env.CALLWRIGHT_API_KEY = customer.testKey;
      const draft = join(folder, 'draft.json');
      const parameters = { type: 'object', properties: {} };
      const tool = { name: 'find_slot', description: 'Finds a slot.', method: 'GET', url: 'https://example.com/slots' };
      await writeFile(draft, JSON.stringify({ name: 'Draft', instruction: 'Hi.', tools: [{ ...tool, parameters }] }));
      const create = ['web-calls', 'create'];
      const conduct = ['--param', 'customer=Ada', '--external-call-id', 'visit-1'];
      const call = await json(...create, '--draft-file', draft, ...conduct);
      expect(call).toEqual({
        call_id: expect.stringMatching(/^call_/),
        url: expect.stringMatching(/^wss?:.*\/web$/),
        token: expect.stringMatching(/^[\w-]{20,}$/),
      });
      const { agent, ...request } = (await service.database.callRequests.findById(String(call.call_id)).lean())!;
      expect(agent).toMatchObject({ name: 'Draft', instruction: 'Hi.', tools: [{ name: 'find_slot' }] });
      expect(request).toMatchObject({ direction: 'inbound', externalCallId: 'visit-1', toPhoneNumber: 'web' });
      expect(JSON.parse(request.inputParameters)).toEqual({ customer: 'Ada' });
      const shown = await text([...create, '--agent', customer.agent._id]);
      expect(shown).toMatch(/^Call started\. Connect to url within 60 s[^\n]*\n call_id +call_/);
      expect(shown).toMatch(/ token +\S+/);
    });

    it.each([
      ['nothing that conducts it', undefined, /--agent, --draft-file, --instruction or --instruction-file is required/],
      ['a draft that is no object', '[]', /--draft-file must contain a JSON object/],
      ['a draft that is no JSON', '{', /--draft-file cannot be read/],
      ['a draft with an unknown field', '{"name":"A","instruction":"B","x":1}', /^error: --draft-file: agent: must be/],
      ['a draft without a name', '{"instruction":"B"}', /^error: agent\.name: /],
    ])('start in a browser only with an agent: %s is exit 2', async (_name, draft, sentence) => {
      const file = join(folder, 'faulty-draft.json');
      await writeFile(file, draft ?? '');
      const { code, stderr } = await runCli(
        ['web-calls', 'create', ...(draft === undefined ? [] : ['--draft-file', file])],
        env,
      );
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) as string });
    });

    it('of other accounts are not found: exit 1', async () => {
      const id = await management.endedCall(await service.customer());
      expect(await failure(['calls', 'get', id])).toMatchObject({ code: 1, error_code: 'CALL_NOT_FOUND' });
    });
  });

  describe('finding the service and the key', () => {
    it('uses the service and key of this folder on loopback, and reports it', async () => {
      const runtime = { base_url: service.baseUrl, test_api_key: customer.testKey };
      const dataDir = await mkdtemp(join(folder, 'data-'));
      await writeFile(join(dataDir, 'runtime.json'), JSON.stringify(runtime));
      const local = { CALLWRIGHT_DATA_DIR: dataDir };
      const { code, stdout, stderr } = await runCli(['balance'], local);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^Using the test key of the demo account/) as string]);
      expect(stdout).toMatch(/mode +test/);
      expect((await runCli(['balance', '--json'], local)).stderr).toBe('');
      // The command sends the stored key to the service it was stored for, and to no other URL.
      expect(await failure(['balance', '--url', NOWHERE], local)).toMatchObject({ code: 2 });
    });

    describe('with the keys of the demo account', () => {
      let local: NodeJS.ProcessEnv;
      beforeEach(async () => {
        const keys = { live_api_key: customer.liveKey, test_api_key: customer.testKey };
        const dataDir = await mkdtemp(join(folder, 'data-'));
        await writeFile(join(dataDir, 'runtime.json'), JSON.stringify({ base_url: service.baseUrl, ...keys }));
        local = { CALLWRIGHT_DATA_DIR: dataDir };
      });

      async function runBoth(...args: string[]): Promise<{ answer: Fields; stderr: string }> {
        const asText = await runCli(args, local);
        expect(asText.code).toBe(0);
        const { code, stdout, stderr } = await runCli([...args, '--json'], local);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        return { answer: JSON.parse(stdout) as Fields, stderr: asText.stderr };
      }

      it('uses the live key for resources of live calls, and reports it', async () => {
        const number = '+12025550157';
        const live = /^Using the live key of the demo account/;
        const { answer: agent, stderr } = await runBoth('agents', 'create', '--name', 'A', '--instruction', 'B');
        expect([agent.mode, stderr]).toEqual(['live', expect.stringMatching(live) as string]);
        expect((await runCli(['numbers', 'add', number], local)).stderr).toMatch(live);
        expect((await runBoth('numbers', 'agent', number, String(agent.agent_id))).stderr).toMatch(live);
        expect((await runCli(['numbers', 'remove', number], local)).stderr).toMatch(live);
      });

      it('uses the key whose mode is that of the agent', async () => {
        const { _id: live } = customer.agent;
        const test = String(
          (await management.post('/agents', customer.testKey, { name: 'T', instruction: 'B' })).json.agent_id,
        );
        const renamed = await runBoth('agents', 'update', live, '--name', 'Renamed');
        expect(renamed.answer).toMatchObject({ mode: 'live', name: 'Renamed' });
        expect(renamed.stderr).toContain('Using the live key');
        const ofTest = await runBoth('agents', 'update', test, '--name', 'Renamed');
        expect(ofTest.answer).toMatchObject({ mode: 'test', name: 'Renamed' });
        expect(ofTest.stderr).not.toContain('live key');
        expect((await runBoth('agents', 'archive', test)).answer).toHaveProperty('archived_at');
        expect((await runBoth('agents', 'archive', live)).answer).toHaveProperty('archived_at');
      });

      it('keeps a key that was given, even if it has the wrong mode', async () => {
        const given = { ...local, CALLWRIGHT_API_KEY: customer.testKey };
        expect(await failure(['agents', 'archive', customer.agent._id], given)).toMatchObject({
          code: 1,
          error_code: 'FORBIDDEN',
          message: expect.stringContaining('Use a live key') as string,
        });
      });
    });

    it.each([
      ['no service', {}, 2, 'No service found'],
      ['no key', { CALLWRIGHT_URL: NOWHERE }, 2, 'API key missing'],
      ['an invalid URL', { CALLWRIGHT_URL: 'calls.example.com', CALLWRIGHT_API_KEY: 'x' }, 2, 'CALLWRIGHT_URL'],
      ['an invalid key', { CALLWRIGHT_URL: NOWHERE, CALLWRIGHT_API_KEY: 'a\nb' }, 2, 'CALLWRIGHT_API_KEY'],
      ['an unavailable service', { CALLWRIGHT_URL: NOWHERE, CALLWRIGHT_API_KEY: 'x' }, 3, NOWHERE],
    ])('explains what is missing with %s', async (_name, environment, code, sentence) => {
      const where = { ...environment, CALLWRIGHT_DATA_DIR: folder };
      const { stderr, ...result } = await runCli(['calls', 'list'], where);
      expect(result).toEqual({ code, stdout: '' });
      expect(stderr).toContain(sentence);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect((await failure(['calls', 'list'], where)).code).toBe(code);
    });

    it('does not accept a key as an argument, where others could read it', async () => {
      expect((await runCli(['balance', '--api-key', customer.liveKey], env)).code).toBe(2);
    });
  });

  it('reports wrong usage as an error object with --json', async () => {
    expect(await failure(['nonsense'])).toMatchObject({ code: 2, success: false, error_code: 'MISSING_PARAMS' });
    expect(await failure(['calls'])).toMatchObject({ code: 2, message: 'A command is required.' });
  });
});
