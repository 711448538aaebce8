import { tone } from './support/agent.js';
import { answerTwiml, dial, streamCall } from './support/line-tools.js';
import { startBench, until, type Bench } from './support/simulator.js';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ SIMULATOR_TIME_SCALE: '0.1' });
});
afterAll(() => bench.close());

const goOn = (path: string) => `<Redirect method="POST">${bench.customer.baseUrl}${path}</Redirect>`;

async function heardBy(sid: string): Promise<Int16Array> {
  const wav = Buffer.from(await (await fetch(`${bench.url}/simulator/calls/${sid}/heard.wav`)).arrayBuffer());
  return new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
}

describe('<Dial>', () => {
  it('connects the call with another number, whose words are heard, and goes on when its time is over', async () => {
    answerTwiml(bench, `<Dial timeLimit="3"><Number>+12025550108</Number></Dial>${goOn('/after-limit')}`);
    const { sid } = await dial(bench, '+12025550107');
    const story = await bench.ended(sid);
    expect(story.dials).toEqual([expect.objectContaining({ to: '+12025550108', status: 'completed', seconds: 3 })]);
    expect(bench.customer.to('/after-limit')).toHaveLength(1);
    // One call, whose seconds are those of both legs.
    expect((await bench.all()).filter(({ sid: other }) => other === sid)).toHaveLength(1);
    expect(story.duration_seconds).toBeGreaterThanOrEqual(3);
    const loud = (await heardBy(sid)).filter((sample) => Math.abs(sample) > 1_000);
    expect(loud.length).toBeGreaterThan(4_000);
  });

  it('goes on when the other hangs up, and tells the action how it went', async () => {
    answerTwiml(bench, `<Dial action="${bench.customer.baseUrl}/dialed">+12025550106</Dial>${goOn('/never')}`);
    const { sid } = await dial(bench, '+12025550107');
    const story = await bench.ended(sid);
    expect(story.dials).toMatchObject([{ status: 'completed' }]);
    const [asked] = bench.customer.to('/dialed');
    expect(asked?.signed).toBe(true);
    expect(asked?.params).toMatchObject({ DialCallStatus: 'completed', DialCallDuration: '1', CallSid: sid });
    expect(bench.customer.to('/never')).toHaveLength(0);
  });

  it('tells of the answer of its number, as a leg of the call, when that is asked for', async () => {
    const at = `statusCallback="${bench.customer.baseUrl}/told#rc=3&amp;rp=5xx,ct,rt"`;
    const number = (event: string) => `<Dial><Number ${at} ${event}>+12025550106</Number></Dial>`;
    answerTwiml(bench, number('statusCallbackEvent="initiated answered"'));
    const { sid } = await dial(bench, '+12025550107');
    await until(() => bench.customer.to('/told').length > 0, 30_000);
    const [told] = bench.customer.to('/told');
    expect(told?.signed).toBe(true);
    expect(told?.params).toMatchObject({ ParentCallSid: sid, CallStatus: 'in-progress', To: '+12025550106' });
    expect(told?.params['CallSid']).toMatch(/^CA[0-9a-f]{32}$/);
    expect(told?.params['CallSid']).not.toBe(sid);
    await bench.ended(sid);
    answerTwiml(bench, number(''));
    await bench.ended((await dial(bench, '+12025550107')).sid);
    expect(bench.customer.to('/told')).toHaveLength(1);
  });

  it.each([
    ['+12025550101', 'busy'],
    ['+12025550102', 'no-answer'],
    ['+12025550103', 'failed'],
    ['911', 'failed'],
  ])('of %s is %s, and the next verb runs', async (number, status) => {
    answerTwiml(bench, `<Dial timeout="1"><Number>${number}</Number></Dial>${goOn(`/after-${status}`)}`);
    const before = bench.customer.to(`/after-${status}`).length;
    const { sid } = await dial(bench, '+12025550107');
    const story = await bench.ended(sid);
    expect(story.dials).toMatchObject([{ to: number, status, seconds: 0 }]);
    expect(bench.customer.to(`/after-${status}`)).toHaveLength(before + 1);
    expect(story.status).toBe('completed');
  });

  it('is over when the call is', async () => {
    answerTwiml(bench, '<Dial><Number>+12025550108</Number></Dial>');
    const { sid } = await dial(bench, '+12025550107');
    await until(async () => (await bench.story(sid)).dials[0]?.status === 'completed');
    await bench.carrier.hangUp(sid);
    expect(await bench.ended(sid)).toMatchObject({ status: 'completed', dials: [{ status: 'completed' }] });
  });

  it('follows a stream, and the agent is heard no longer', async () => {
    const dialVerb = '<Dial timeLimit="2"><Number>+12025550107</Number></Dial>';
    const { agents, sid } = await streamCall(bench, '+12025550108', dialVerb);
    const [agent] = agents;
    await until(() => agent!.secondsHeard() > 0.5);
    agent!.media(tone(30_000));
    agent!.close();
    await agent!.closed;
    const heard = (await heardBy(sid)).length;
    const story = await bench.ended(sid);
    expect(story.dials).toMatchObject([{ to: '+12025550107', seconds: 2 }]);
    // The number that was dialed is silent.
    expect((await heardBy(sid)).subarray(heard + 1_600).every((sample) => sample === 0)).toBe(true);
  });

  it('lets the two hear each other', async () => {
    answerTwiml(bench, '<Dial><Number>+12025550105</Number></Dial>');
    const caller = await dial(bench, '+12025550100');
    // The greeting of the machine is over before the person says a word.
    await until(async () => (await bench.story(caller.sid)).script.length > 0, 30_000);
    expect((await bench.story(caller.sid)).script[0]?.did).toBe('said');
    await bench.carrier.hangUp(caller.sid);

    answerTwiml(bench, '<Dial><Number>+12025550100</Number></Dial>');
    const machine = await dial(bench, '+12025550105');
    await bench.ended(machine.sid);
    const answer = (await heardBy(machine.sid)).filter((sample) => Math.abs(sample) > 1_000);
    expect(answer.length).toBeGreaterThan(500);
  });

  it('without a number is no instruction', async () => {
    answerTwiml(bench, '<Dial><Sip>sip:a@b</Sip></Dial>');
    const { sid } = await dial(bench, '+12025550107');
    expect((await bench.ended(sid)).errors.map(({ code }) => code)).toEqual([12100]);
  });
});
