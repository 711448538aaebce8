import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../src/calls/views/schemas.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { runCli, startCli } from '../integration/cli/support/run-cli.js';
import { launch, type Launched } from '../support/dev-stack.js';

jest.setTimeout(300_000);

const WITHIN_MS = 90_000;
const TALKS = '+12025550100';
const NEVER_ANSWERS = '+12025550102';
const ANSWERS_THREE_QUESTIONS = '+12025550111';
const NEVER_STOPS_TALKING = '+12025550108';

describe('the management API on a running service', () => {
  let stack: Launched;
  let runtime: Runtime;
  let cookie = '';

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'warn' } });
    runtime = await stack.runtime();
  });
  afterAll(() => stack?.destroy());

  async function send(method: string, path: string, body?: object) {
    const response = await fetch(`${runtime.base_url}${path}${path.includes('?') ? '&' : '?'}mode=test`, {
      method,
      headers: {
        ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }),
        ...(cookie === '' ? {} : { cookie }),
      },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
      signal: AbortSignal.timeout(40_000),
    });
    const set = response.headers.getSetCookie().at(-1);
    if (set !== undefined) cookie = set.split(';')[0] ?? '';
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  /** Places a call to a scripted callee. Tries again after a 503, which a busy service can send. */
  async function place(to: string): Promise<string> {
    for (let tries = 1; ; tries++) {
      const { status, json } = await send('POST', '/calls', { to_phone_number: to, agent_id: runtime.agent_id });
      if (status === 200) return String(json['call_id']);
      if (status !== 503 || tries === 10) throw new Error(`The call was answered with ${status}.`);
      await sleep(500);
    }
  }

  async function until(callId: string, holds: (call: Call) => boolean): Promise<Call> {
    for (const giveUpAt = Date.now() + WITHIN_MS; ;) {
      const { json } = await send('GET', `/calls/${callId}`);
      const call = json as unknown as Call;
      if (holds(call)) return call;
      if (Date.now() > giveUpAt) throw new Error(`The call stayed ${call.status}.`);
      await sleep(200);
    }
  }

  /** Waits for the password in the launcher's output, which appears a moment after runtime.json. */
  async function shownPassword(): Promise<string> {
    for (const giveUpAt = Date.now() + WITHIN_MS; Date.now() < giveUpAt; await sleep(100)) {
      const [, password] = /password {7}(\S+) \(shown this once\)/.exec(stack.output()) ?? [];
      if (password !== undefined) return password;
    }
    throw new Error('No password was shown.');
  }

  it('accepts a login with the password that the launcher shows at the first start', async () => {
    const password = await shownPassword();
    const { status, json } = await send('POST', '/portal/log-in', { email: 'demo@callwright.local', password });
    expect(status).toBe(200);
    expect(json).toMatchObject({ member: { role: 'owner' } });
  });

  it('cancels a ringing call at no cost', async () => {
    const callId = await place(NEVER_ANSWERS);
    await until(callId, (call) => call.carrier_sid !== undefined || call.status !== 'IDLE');
    const { status, json } = await send('POST', `/calls/${callId}/cancel`);
    expect([status, json]).toEqual([
      200,
      { call_id: callId, result: 'cancelled', status: 'CANCELLED', end_reason: 'api_hangup' },
    ]);
    const call = await until(callId, () => true);
    expect(call).toMatchObject({ status: 'CANCELLED', cost_micros: 0 });
    expect(await send('POST', `/calls/${callId}/cancel`)).toMatchObject({
      status: 409,
      json: { error_code: 'CALL_ENDED', status: 'CANCELLED', end_reason: 'api_hangup' },
    });
  });

  it('hangs up an answered call, which is COMPLETED and billed', async () => {
    const callId = await place(NEVER_STOPS_TALKING);
    await until(callId, (call) => call.status === 'IN_PROGRESS');
    const answers = await Promise.all([1, 2].map(() => send('POST', `/calls/${callId}/cancel`)));
    for (const { status, json } of answers) {
      expect([status, json['result'], json['status']]).toEqual([200, 'hung_up', 'COMPLETED']);
    }
    const call = await until(callId, () => true);
    expect(call).toMatchObject({ status: 'COMPLETED', end_reason: 'api_hangup' });
    expect(call.cost_micros).toBe((call.duration_seconds ?? 0) * 2_500);
  });

  it('places, follows and cancels calls from a shell and delivers webhooks to a local listener', async () => {
    // The command line finds the service's address, a test key and an agent in the data folder of the started service.
    const env = { CALLWRIGHT_DATA_DIR: stack.dataFolder };
    const shell = async (...args: string[]) => {
      const { code, stdout, stderr } = await runCli([...args, '--json'], env, { timeout: 150_000 });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    const place = (to: string, ...options: string[]) =>
      shell('calls', 'create', '--to', to, '--agent', runtime.agent_id, ...options);

    const ringing = JSON.parse(await place(NEVER_ANSWERS)) as Call;
    const cancelled = JSON.parse(await shell('calls', 'cancel', ringing.call_id)) as object;
    expect(cancelled).toMatchObject({ result: 'cancelled', status: 'CANCELLED' });

    const listener = startCli(['webhooks', 'listen', '--port', '0', '--agent', runtime.agent_id], env);
    try {
      while (!listener.stderr().includes('Until this command ends')) await sleep(100);
      const { call_id: callId } = JSON.parse(await place(ANSWERS_THREE_QUESTIONS)) as Call;
      const tail = (await shell('calls', 'tail', callId)).trim().split('\n');
      const output = tail.map((line) => JSON.parse(line) as { type: string; event?: string; speaker?: string });
      const position = (event: string) => output.findIndex((each) => each.event === event);
      const turns = output.flatMap(({ type }, index) => (type === 'turn' ? [index] : []));
      // The transcript shows turns while the call is still in progress.
      expect(Math.min(...turns)).toBeGreaterThan(position('IN_PROGRESS'));
      expect(turns.filter((index) => index < position('COMPLETED')).length).toBeGreaterThan(4);
      expect(output.at(-1)).toMatchObject({ type: 'call', call_id: callId, status: 'COMPLETED' });
      const delivered = `${callId} COMPLETED callee_hangup -> 204`;
      for (let looks = 0; looks < 100 && !listener.stdout().includes(delivered); looks++) await sleep(100);
      expect(listener.stdout()).toContain(delivered);
    } finally {
      listener.interrupt();
    }
    expect((await listener.ended).code).toBe(0);
    const waited = JSON.parse(await place(TALKS, '--wait')) as Call;
    expect(waited).toMatchObject({ status: 'COMPLETED', cost_micros: (waited.duration_seconds ?? 0) * 2_500 });
    expect(waited.summary).toBeTruthy();
  });

  it('shows all details of a call and erases it', async () => {
    const callId = await place(TALKS);
    const call = await until(callId, ({ webhook_attempts: attempts }) =>
      attempts.some(({ outcome }) => outcome === 'delivered'),
    );
    expect(call).toMatchObject({
      status: 'COMPLETED',
      has_recording: true,
      cost_windows: [{ window: 0, held_seconds: 60 }],
    });
    const eventsOf = (source: string) =>
      call.timeline.filter((event) => event.source === source).map(({ event }) => event);
    expect(eventsOf('call')).toEqual(expect.arrayContaining(['requested', 'RINGING', 'IN_PROGRESS', 'COMPLETED']));
    expect(eventsOf('carrier')).toEqual(expect.arrayContaining(['initiated', 'in-progress', 'completed']));
    expect(eventsOf('media')).toEqual(['stream_started', 'stream_ended']);
    expect(eventsOf('money')).toEqual(['hold', 'settlement']);
    expect(eventsOf('webhook')).toEqual(['attempt']);
    const billed = call.cost_windows.reduce((sum, window) => sum + (window.billed_micros ?? 0), 0);
    expect(billed).toBe(call.cost_micros);
    const transcript = await send('GET', `/calls/${callId}/transcript`);
    expect((transcript.json['turns'] as object[]).length).toBeGreaterThan(1);

    expect((await send('POST', `/calls/${callId}/erase`)).status).toBe(200);
    const erased = await until(callId, () => true);
    expect(erased).toMatchObject({ to_phone_number: '', has_recording: false, cost_micros: call.cost_micros });
    expect((await send('GET', `/calls/${callId}/transcript`)).json).toMatchObject({ turns: [], text: '' });
    expect((await send('POST', `/webhook_deliveries/${callId}/redeliver`)).status).toBe(409);
  });
});
