import { tone } from './support/agent.js';
import { answerTwiml, dial, streamCall } from './support/line-tools.js';
import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

const redirectTo = (path: string) => `<Redirect method="POST">${bench.customer.baseUrl}${path}</Redirect>`;

async function audioHeardBy(sid: string): Promise<Int16Array> {
  const wav = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
  return new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
}

/** Lists the calls that this call has placed with `<Dial>`, over the REST interface. */
async function legsOf(sid: string): Promise<Record<string, unknown>[]> {
  const { carrierAccountId, authToken } = bench.config.carriers.test;
  const authorization = `Basic ${Buffer.from(`${carrierAccountId}:${authToken}`).toString('base64')}`;
  const url = `${bench.url}/2010-04-01/Accounts/${carrierAccountId}/Calls.json?ParentCallSid=${sid}`;
  const response = await fetch(url, { headers: { authorization } });
  return ((await response.json()) as { calls: Record<string, unknown>[] }).calls;
}

describe('<Dial>', () => {
  it('connects the call with another number, whose audio is played, and continues at its time limit', async () => {
    answerTwiml(bench, `<Dial timeLimit="3"><Number>+12025550108</Number></Dial>${redirectTo('/after-limit')}`);
    const { sid } = await dial(bench, '+12025550107');
    const record = await bench.waitForEnd(sid);
    expect(record.dials).toEqual([expect.objectContaining({ to: '+12025550108', status: 'completed', seconds: 3 })]);
    expect(bench.customer.to('/after-limit')).toHaveLength(1);
    // The control interface lists one call for both legs. Its seconds include both legs.
    expect((await bench.all()).filter(({ sid: other }) => other === sid)).toHaveLength(1);
    expect(record.duration_seconds).toBeGreaterThanOrEqual(3);
    const loud = (await audioHeardBy(sid)).filter((sample) => Math.abs(sample) > 1_000);
    expect(loud.length).toBeGreaterThan(4_000);
  });

  it('continues when the dialed party hangs up, and sends the result to the action URL', async () => {
    answerTwiml(bench, `<Dial action="${bench.customer.baseUrl}/dialed">+12025550106</Dial>${redirectTo('/never')}`);
    const { sid } = await dial(bench, '+12025550107');
    const record = await bench.waitForEnd(sid);
    expect(record.dials).toMatchObject([{ status: 'completed' }]);
    const [actionRequest] = bench.customer.to('/dialed');
    expect(actionRequest?.signed).toBe(true);
    expect(actionRequest?.params).toMatchObject({ DialCallStatus: 'completed', DialCallDuration: '1', CallSid: sid });
    expect(bench.customer.to('/never')).toHaveLength(0);
  });

  it('makes the number a call of its own, with its callbacks in the order of its progress', async () => {
    const at = `statusCallback="${bench.customer.baseUrl}/told#rc=3&amp;rp=5xx,ct,rt"`;
    const number = (event: string) =>
      `<Dial callerId="+15005550006" action="${bench.customer.baseUrl}/over"><Number ${at} ${event}>+12025550106</Number></Dial>`;
    answerTwiml(bench, number('statusCallbackEvent="initiated answered completed"'));
    const { sid } = await dial(bench, '+12025550107');
    await bench.waitForEnd(sid);
    await until(() => bench.customer.to('/told').length === 3);
    const told = bench.customer.to('/told');
    expect(told.every(({ signed }) => signed)).toBe(true);
    const [legSid] = told.map(({ params }) => params['CallSid']);
    expect(legSid).toMatch(/^CA[0-9a-f]{32}$/);
    expect(legSid).not.toBe(sid);
    const common = { CallSid: legSid, ParentCallSid: sid, To: '+12025550106', Direction: 'outbound-dial' };
    expect(
      told.map(({ params }) => params).toSorted((a, b) => Number(a['SequenceNumber']) - Number(b['SequenceNumber'])),
    ).toMatchObject([
      { ...common, CallStatus: 'initiated', SequenceNumber: '0' },
      { ...common, CallStatus: 'in-progress', SequenceNumber: '1' },
      { ...common, CallStatus: 'completed', SequenceNumber: '2', CallDuration: '1' },
    ]);
    expect(bench.customer.to('/over')[0]?.params).toMatchObject({
      CallSid: sid,
      DialCallSid: legSid,
      DialBridged: 'true',
    });
    expect(await legsOf(sid)).toMatchObject([
      { sid: legSid, parent_call_sid: sid, direction: 'outbound-dial', from: '+15005550006', status: 'completed' },
    ]);
    // The leg is not a call that a create request has placed.
    const since = Date.now() - 60_000;
    expect(await bench.carrier.findPlaced({ to: '+12025550106', from: '+15005550006', since })).toEqual([]);
    answerTwiml(bench, number(''));
    await bench.waitForEnd((await dial(bench, '+12025550107')).sid);
    await until(() => bench.customer.to('/told').length === 4);
    expect(bench.customer.to('/told')[3]?.params).toMatchObject({ CallStatus: 'completed', SequenceNumber: '0' });
  });

  it('ends when the call to the number is hung up over the REST interface', async () => {
    answerTwiml(bench, `<Dial><Number>+12025550108</Number></Dial>${redirectTo('/after-leg')}`);
    const { sid } = await dial(bench, '+12025550107');
    await until(async () => (await bench.getCall(sid)).dials[0]?.status === 'completed');
    const [leg] = await legsOf(sid);
    await bench.carrier.hangUp(String(leg?.['sid']));
    await bench.waitForEnd(sid);
    expect(bench.customer.to('/after-leg')).toHaveLength(1);
    expect(await legsOf(sid)).toMatchObject([{ status: 'completed' }]);
  });

  it.each([
    ['+12025550101', 'busy'],
    ['+12025550102', 'no-answer'],
    ['+12025550103', 'failed'],
    ['911', 'failed'],
  ])('ends for %s as %s, and the next verb runs', async (number, status) => {
    answerTwiml(bench, `<Dial timeout="1"><Number>${number}</Number></Dial>${redirectTo(`/after-${status}`)}`);
    const before = bench.customer.to(`/after-${status}`).length;
    const { sid } = await dial(bench, '+12025550107');
    const record = await bench.waitForEnd(sid);
    expect(record.dials).toMatchObject([{ to: number, status, seconds: 0 }]);
    expect(bench.customer.to(`/after-${status}`)).toHaveLength(before + 1);
    expect(record.status).toBe('completed');
  });

  it('ends with the call', async () => {
    answerTwiml(bench, '<Dial><Number>+12025550108</Number></Dial>');
    const { sid } = await dial(bench, '+12025550107');
    await until(async () => (await bench.getCall(sid)).dials[0]?.status === 'completed');
    await bench.carrier.hangUp(sid);
    expect(await bench.waitForEnd(sid)).toMatchObject({ status: 'completed', dials: [{ status: 'completed' }] });
  });

  it('follows a stream, and the agent’s audio ends', async () => {
    const dialVerb = '<Dial timeLimit="2"><Number>+12025550107</Number></Dial>';
    const { agents, sid } = await streamCall(bench, '+12025550108', dialVerb);
    const [agent] = agents;
    await until(() => agent!.secondsHeard() > 0.5);
    agent!.media(tone(30_000));
    agent!.close();
    await agent!.closed;
    const heard = (await audioHeardBy(sid)).length;
    const record = await bench.waitForEnd(sid);
    expect(record.dials).toMatchObject([{ to: '+12025550107', seconds: 2 }]);
    // The callee of the dialed number is silent, so the caller hears silence for the rest of the call.
    expect((await audioHeardBy(sid)).subarray(heard + 1_600).every((sample) => sample === 0)).toBe(true);
  });

  it('lets both parties hear each other', async () => {
    answerTwiml(bench, '<Dial><Number>+12025550105</Number></Dial>');
    const caller = await dial(bench, '+12025550100');
    // The greeting of the answering machine ends before the person speaks.
    await until(async () => (await bench.getCall(caller.sid)).script.length > 0, 30_000);
    expect((await bench.getCall(caller.sid)).script[0]?.did).toBe('said');
    await bench.carrier.hangUp(caller.sid);

    answerTwiml(bench, '<Dial><Number>+12025550100</Number></Dial>');
    const machine = await dial(bench, '+12025550105');
    await bench.waitForEnd(machine.sid);
    const answer = (await audioHeardBy(machine.sid)).filter((sample) => Math.abs(sample) > 1_000);
    expect(answer.length).toBeGreaterThan(500);
  });

  it('is an error without a number', async () => {
    answerTwiml(bench, '<Dial><Sip>sip:a@b</Sip></Dial>');
    const { sid } = await dial(bench, '+12025550107');
    expect((await bench.waitForEnd(sid)).errors.map(({ code }) => code)).toEqual([12100]);
  });
});
