import { SILENT_GOODBYE } from '../../../src/voice/engines/offline-phrases.js';
import { silence, tone } from '../../support/spoken';
import { chatAnswer } from './fakes/openai-realtime';
import { GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';
import type { RealtimeCall } from './support/realtime-call';

describe('the conclusion of a call', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it('is requested once, in strict mode with the whole transcript, and checked against the template', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'Yes, that suits me.', says: 'Good.' }] });
    call.fake.concludeBy(() => ({
      status: 200,
      text: chatAnswer({ summary: 'Confirmed.', values: { value_1: true, value_2: { forged: 1 }, value_3: 'x' } }),
    }));
    await call.greeted();
    await call.ask('Yes, that suits me.');
    const result = await call.line.hangUp();
    expect(result).toMatchObject({ summary: 'Confirmed.', outputParameters: { confirmed: true, note: null } });
    expect(Object.keys(result.outputParameters)).toEqual(['confirmed', 'note']);
    expect(call.fake.conclusions).toHaveLength(1);
    const [request] = call.fake.conclusions;
    expect(request?.authorization).toBe('Bearer test-key');
    const body = JSON.parse(request?.body ?? '') as {
      messages: { content: string }[];
      response_format: { json_schema: { strict: boolean } };
    };
    expect(body.response_format.json_schema.strict).toBe(true);
    expect(body.messages[1]?.content).toBe(`agent: ${GREETING}\ncaller: Yes, that suits me.\nagent: Good.`);
  });

  it('is requested again after a 503, and made without the model after a second one', async () => {
    call = await placeRealtimeCall();
    let requests = 0;
    call.fake.concludeBy(() => ({ status: 503, text: `${++requests}` }));
    await call.greeted();
    await call.ask();
    const result = await call.line.hangUp();
    expect(requests).toBe(2);
    expect(result.summary).toBe('The agent spoke 2 times and the other person once; no summary could be created.');
    expect(result.outputParameters).toEqual({ confirmed: null, note: null });
  });

  it('is requested again if the response breaks', async () => {
    call = await placeRealtimeCall();
    let requests = 0;
    call.fake.concludeBy(() => ({
      status: 200,
      text: chatAnswer({ summary: 'All is well.', values: { value_1: true, value_2: null } }),
      ...(++requests === 1 ? { breaksOff: true } : {}),
    }));
    await call.greeted();
    await call.ask();
    expect(await call.line.hangUp()).toMatchObject({
      summary: 'All is well.',
      outputParameters: { confirmed: true, note: null },
    });
  });

  it('keeps the DTMF digits of a caller who hangs up without a pause', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.engine.onDtmf('1');
    await call.line.hangUp();
    expect(call.line.callerTurns()).toEqual(['(keys: 1)']);
  });

  it.each([['not JSON'], ['{}'], [chatAnswer([1, 2])], [chatAnswer('x')]])(
    'is made without the model if the response is %s',
    async (text) => {
      call = await placeRealtimeCall();
      call.fake.concludeBy(() => ({ status: 200, text }));
      await call.greeted();
      call.line.say(await call.speech('Hello?'));
      await eventually(() => call.line.callerTurns().length > 0, ANSWER_MS);
      const result = await call.line.hangUp();
      expect(result.summary).toMatch(/no summary could be created/);
      expect(result.outputParameters).toEqual({ confirmed: null, note: null });
    },
  );

  it('keeps the words of a caller who hangs up while speaking', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'I have to go now.' }] });
    await call.greeted();
    call.line.say(await call.speech('I have to go now, good bye and thank you.'));
    await eventually(() => call.line.callerSpeaks(), ANSWER_MS);
    await new Promise((resolve) => setTimeout(resolve, 700));
    await call.line.hangUp();
    expect(call.line.callerTurns()).toEqual(['I have to go now.']);
  });
});

describe('voicemail', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  const VOICEMAIL_GREETING = 'You have reached the mailbox of Ada. Please leave a message.';
  const machine = { hears: VOICEMAIL_GREETING, calls: { name: 'answering_machine', arguments: {} } };

  it('that the model detects is hung up on', async () => {
    call = await placeRealtimeCall({ call: { voicemail: { action: 'hang_up' } }, script: [machine] });
    await call.greeted();
    call.line.say(await call.speech(VOICEMAIL_GREETING));
    await eventually(() => call.line.ended !== undefined, ANSWER_MS);
    expect(call.line.ended).toBe('voicemail');
    expect(call.line.tools).toEqual([]);
    expect(await call.line.hangUp()).toMatchObject({ answeredBy: 'voicemail' });
  });

  it('that the carrier reports is hung up on, even while the agent speaks', async () => {
    call = await placeRealtimeCall({ call: { voicemail: { action: 'hang_up' } } });
    await eventually(() => call.line.heard.length > 25, ANSWER_MS);
    call.engine.onAnsweredBy?.('voicemail');
    await eventually(() => call.line.ended !== undefined, ANSWER_MS);
    expect(call.line.ended).toBe('voicemail');
    expect(call.line.agentTurns()[0]).toMatch(/interrupted/);
    expect(await call.line.hangUp()).toMatchObject({ answeredBy: 'voicemail' });
  });

  it('gets the message when it is silent, and no reply', async () => {
    const message = 'Please call the clinic back, {{name}}.';
    call = await placeRealtimeCall({
      call: { voicemail: { action: 'leave_message', message }, inputParameters: { name: 'Ada' } },
      script: [machine],
    });
    await call.greeted();
    call.line.say(await call.speech(VOICEMAIL_GREETING));
    await eventually(() => call.sent('response.create').length > 1, ANSWER_MS);
    expect(call.line.callerSpeaks()).toBe(false);
    const itemTexts = call.sent('conversation.item.create').map(({ item }) => item?.content?.[0]?.text);
    expect(itemTexts.at(-1)).toContain('⟦Please call the clinic back, Ada.⟧');
    await eventually(() => call.line.ended !== undefined, ANSWER_MS);
    expect(call.line.ended).toBe('voicemail');
    await call.line.hangUp();
    expect(call.line.agentTurns()).toHaveLength(2);
  });

  it('that pauses before its tone gets the message after the tone if only the model detected it', async () => {
    const message = 'Please call the clinic back.';
    call = await placeRealtimeCall({ call: { voicemail: { action: 'leave_message', message } }, script: [machine] });
    await call.greeted();
    call.line.say(Buffer.concat([await call.speech(VOICEMAIL_GREETING), silence(2_500), tone(1_000, 500)]));
    const itemTexts = () => call.sent('conversation.item.create').map(({ item }) => item?.content?.[0]?.text ?? '');
    await eventually(() => itemTexts().some((text) => text.includes(message)), ANSWER_MS);
    expect(call.line.callerSpeaks()).toBe(false);
    await eventually(() => call.line.ended !== undefined, ANSWER_MS);
    expect(call.line.ended).toBe('voicemail');
  });

  it('gets a conversation if the agent continues on voicemail', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.engine.onAnsweredBy?.('voicemail');
    await call.ask();
    expect(call.line.ended).toBeUndefined();
    expect(call.sent('session.update')[0]?.session?.tools?.map(({ name }) => name)).toEqual(['look_up']);
    expect(await call.line.hangUp()).toMatchObject({ answeredBy: 'voicemail' });
  });

  it('is not assumed if a person answers', async () => {
    call = await placeRealtimeCall({ call: { voicemail: { action: 'hang_up' } } });
    await call.greeted();
    await call.ask();
    expect(await call.line.hangUp()).toMatchObject({ answeredBy: 'human' });
  });
});

describe('a goodbye', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it('is spoken without the model if the model is too slow', async () => {
    call = await placeRealtimeCall({
      silence: { promptAfterMs: 60_000, endAfterMs: 1_500 },
      timings: { lostAfterMs: 1_000 },
    });
    await call.greeted();
    call.fake.nasty.hangs = true;
    await eventually(() => call.line.ended !== undefined, ANSWER_MS);
    expect(call.line.ended).toBe('silence');
    expect(call.line.agentTurns().at(-1)).toBe(SILENT_GOODBYE);
  });
});
