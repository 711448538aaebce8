import { BRIDGE, GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall, type RealtimeCall } from './support/realtime-call';

// Habits of the provider that the shortest exchange of messages does not show. The fake names the sources.
describe('the realtime engine with a provider that', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it('ends a session at its maximum age, continues in a new one', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.session().expire();
    await call.spoken(1);
    expect(call.line.agentTurns()).toEqual([GREETING, BRIDGE]);
    expect(call.line.failures[0]).toMatchObject({
      code: 'session_expired',
      requestId: expect.stringMatching(/^sess_/),
    });
    expect(call.line.failed).toBeUndefined();
  });

  it('gives an item another id after a commit of the client, keeps the words of the item', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'I am still speaking.' }] });
    await call.greeted();
    call.line.say(await call.speech('I am still speaking, and I go on and on and on.'));
    await eventually(() => call.line.callerSpeaks(), ANSWER_MS);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await call.line.hangUp();
    expect(call.sent('input_audio_buffer.commit')).toHaveLength(1);
    expect(call.line.callerTurns()).toEqual(['I am still speaking.']);
  });

  it('drops the reply that it would begin, because another one is active, requests that reply', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    const session = call.session();
    call.fake.nasty.stallMs = 700;
    call.line.say(await call.speech('Tell me more.'));
    await eventually(() => session.events.length > 0 && !call.line.callerSpeaks(), ANSWER_MS);
    await call.spoken(1);
    expect(call.line.agentTurns()).toHaveLength(2);
    const message = 'Conversation already has an active response in progress.';
    const error = { type: 'invalid_request_error', code: 'conversation_already_has_active_response', message };
    session.send({ type: 'error', error: { ...error, param: null, event_id: null } });
    await call.spoken(2);
    expect(call.sent('response.create')).toHaveLength(2);
    expect(call.line.failures).toEqual([]);
  });

  it('speaks in two items, speaks and stores both', async () => {
    const says = 'The first half is here, and the second half follows.';
    call = await placeRealtimeCall({ script: [{ hears: 'Tell me.', says }] });
    await call.greeted();
    call.fake.nasty.splitsItems = true;
    await call.ask('Tell me.');
    await eventually(() => call.line.agentTurns().slice(1).join(' ') === says, ANSWER_MS);
    expect(call.line.failed).toBeUndefined();
  });

  it('calls two tools at once, runs both and requests one reply', async () => {
    const calls = [
      { name: 'look_up', arguments: { day: 'Monday' } },
      { name: 'look_up', arguments: { day: 'Friday' } },
    ];
    call = await placeRealtimeCall({ script: [{ hears: 'When?', calls }] });
    await call.greeted();
    await call.ask('When?');
    expect(call.line.tools).toEqual(calls);
    const outputs = call.sent('conversation.item.create').filter(({ item }) => item?.type === 'function_call_output');
    expect(new Set(outputs.map(({ item }) => item?.call_id)).size).toBe(2);
    expect(call.sent('response.create')).toHaveLength(2);
  });

  it('rejects the schema of a tool, fails with the reason', async () => {
    const broken = { name: 'broken', description: 'Broken.', parameters: { type: 'object' } };
    call = await placeRealtimeCall({ call: { tools: [broken] } });
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.failures[0]).toMatchObject({
      what: 'the provider rejected the session settings: invalid_function_parameters',
      code: 'invalid_function_parameters',
      message: "Invalid schema for function 'broken': In context=(), object schema missing properties.",
    });
  });
});
