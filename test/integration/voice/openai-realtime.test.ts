import { ASIDE, BRIDGE, GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';
import type { RealtimeCall } from './support/realtime-call';

const LONG =
  'This is a long answer of many words, so that there is all the time in the world to interrupt it, again and again.';

describe('the realtime engine', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it('requests telephone audio both ways, a voice, transcripts, turns that only we interrupt, and the tools', async () => {
    call = await placeRealtimeCall({ call: { voicemail: { action: 'hang_up' } } });
    await call.greeted();
    const [update] = call.sent('session.update');
    expect(update?.session).toMatchObject({
      type: 'realtime',
      output_modalities: ['audio'],
      audio: {
        input: {
          format: { type: 'audio/pcmu' },
          transcription: { model: 'gpt-transcribe', languages: ['en'] },
          turn_detection: {
            type: 'server_vad',
            silence_duration_ms: 500,
            create_response: true,
            interrupt_response: false,
          },
        },
        output: { format: { type: 'audio/pcmu' }, voice: 'cedar' },
      },
    });
    expect(update?.session?.tools?.map(({ name }) => name)).toEqual(['look_up', 'answering_machine']);
    expect(update?.session?.instructions).toContain('Say in your first sentence that you are an AI assistant.');
    expect(call.session().errors).toEqual([]);
  });

  it('names the one language of the call to an older transcription model', async () => {
    call = await placeRealtimeCall({ env: { OPENAI_TRANSCRIPTION_MODEL: 'gpt-4o-mini-transcribe' } });
    await call.greeted();
    const transcription = { model: 'gpt-4o-mini-transcribe', language: 'en' };
    expect(call.sent('session.update')[0]?.session?.audio?.input?.transcription).toEqual(transcription);
    expect(call.session().errors).toEqual([]);
  });

  it('leaves semantic turn detection to the provider if configured', async () => {
    call = await placeRealtimeCall({ env: { OPENAI_TURN_DETECTION: 'semantic_vad', OPENAI_VAD_EAGERNESS: 'high' } });
    await call.greeted();
    expect(call.sent('session.update')[0]?.session?.audio?.input?.turn_detection).toEqual({
      type: 'semantic_vad',
      eagerness: 'high',
      create_response: true,
      interrupt_response: false,
    });
  });

  it('cancels the response on a barge-in, truncates it at the played audio, and sends none of it later', async () => {
    call = await placeRealtimeCall({ nasty: { speed: 1.2 }, script: [{ hears: 'Wait.', says: 'Yes?' }] });
    const { line } = call;
    const speech = await call.speech('Wait, wait, please.');
    await eventually(() => line.heard.length > 60, ANSWER_MS);
    line.say(speech);
    await eventually(() => call.sent('conversation.item.truncate').length > 0, ANSWER_MS);
    const heardMs = line.heard.length * 20;
    const order = call
      .session()
      .events.map(({ type }) => type)
      .filter((type) => /cancel|truncate/.test(type));
    expect(order).toEqual(['response.cancel', 'conversation.item.truncate']);
    const [truncate] = call.sent('conversation.item.truncate');
    expect(truncate?.audio_end_ms).toBeGreaterThan(0);
    expect(truncate?.audio_end_ms).toBeLessThanOrEqual(heardMs);
    await call.spoken(1);
    const first = line.turns.find(({ speaker }) => speaker === 'agent');
    expect(first?.text).toMatch(/^Hello, .* \(interrupted\)$/);
    expect(GREETING.startsWith(first?.text.replace(' (interrupted)', '') ?? '-')).toBe(true);
    expect((first?.endMs ?? 0) - (first?.startMs ?? 0)).toBe(truncate?.audio_end_ms);
    const clearedMs = line.events.find(({ kind }) => kind === 'clear')?.atMs ?? Infinity;
    const late = line.events.filter(
      (event) => event.kind === 'audio' && event.itemId === truncate?.item_id && event.atMs > clearedMs,
    );
    expect(late).toEqual([]);
    expect(call.session().errors).toEqual([]);
  });

  it('truncates at the played audio without cancelling if all audio was sent before the barge-in', async () => {
    call = await placeRealtimeCall({ nasty: { speed: 0 }, script: [{ hears: 'Wait.', says: 'Yes?' }] });
    const { line } = call;
    const speech = await call.speech('Wait, wait, please.');
    await eventually(() => line.heard.length > 60, ANSWER_MS);
    line.say(speech);
    await eventually(() => call.sent('conversation.item.truncate').length > 0, ANSWER_MS);
    const heardMs = line.heard.length * 20;
    expect(call.sent('response.cancel')).toEqual([]);
    const [truncate] = call.sent('conversation.item.truncate');
    expect(truncate?.audio_end_ms).toBeGreaterThan(0);
    expect(truncate?.audio_end_ms).toBeLessThanOrEqual(heardMs);
    await call.spoken(1);
    expect(line.agentTurns()[1]).toBe('Yes?');
    expect(call.session().errors).toEqual([]);
  });

  it('continues the session if the provider rejects a truncation as too long', async () => {
    call = await placeRealtimeCall({ nasty: { refusesTruncation: true }, script: [{ hears: 'Wait.', says: 'Yes?' }] });
    const speech = await call.speech('Wait, wait, please.');
    await eventually(() => call.line.heard.length > 60, ANSWER_MS);
    call.line.say(speech);
    await call.spoken(1);
    expect(call.session().errors).toEqual(['invalid_value']);
    expect(call.line.agentTurns()[1]).toBe('Yes?');
    await call.ask();
    expect(call.line.failed).toBeUndefined();
    expect(call.fake.upgrades()).toBe(1);
  });

  it('speaks a filler and replies once from a new session if a response stalls for 10 s', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'What is the address?', says: 'It is the old answer.' }] });
    await call.greeted();
    call.fake.nasty.stallMs = 10_000;
    call.line.say(await call.speech('What is the address?'));
    await eventually(() => call.line.agentTurns().includes('One moment, please.'), ANSWER_MS);
    await eventually(() => call.line.agentTurns().includes(BRIDGE), ANSWER_MS);
    expect(call.fake.upgrades()).toBe(2);
    expect(call.session().instructions()).toContain('What is the address?');
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(call.line.agentTurns()).toEqual([GREETING, 'One moment, please.', BRIDGE]);
    expect(call.line.failed).toBeUndefined();
  }, 90_000);

  it('speaks a filler and waits if a response stalls for 4 s', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'What is the address?', says: 'Main Street five.' }] });
    await call.greeted();
    call.fake.nasty.stallMs = 4_000;
    call.line.say(await call.speech('What is the address?'));
    await eventually(() => call.line.agentTurns().includes('Main Street five.'), ANSWER_MS);
    expect(call.line.agentTurns()).toEqual([GREETING, 'One moment, please.', 'Main Street five.']);
    expect(call.fake.upgrades()).toBe(1);
    expect(call.line.latencies.at(-1)?.totalMs).toBeGreaterThan(4_000);
  });

  it('plays the audio received before a close, then continues in another session', async () => {
    call = await placeRealtimeCall({ script: [{ hears: 'Please tell me.', says: LONG }] });
    await call.greeted();
    call.fake.nasty.closeAfterDeltas = 8;
    call.line.say(await call.speech('Please tell me.'));
    await eventually(() => call.line.agentTurns().includes(BRIDGE), ANSWER_MS);
    const cut = call.line.agentTurns()[1];
    expect(LONG.startsWith(cut?.split(' (')[0] ?? '-')).toBe(true);
    expect(call.session().instructions()).toMatch(/The line broke for a moment/);
    expect(call.session().instructions()).toContain('Please tell me.');
    await call.ask();
    expect(call.line.failed).toBeUndefined();
    expect(call.fake.upgrades()).toBe(2);
  });

  it('dials again after a 429 on the upgrade and greets', async () => {
    call = await placeRealtimeCall({ nasty: { refuseUpgrades: { status: 429, times: 1 } } });
    await call.greeted();
    expect(call.line.agentTurns()).toEqual([GREETING]);
    expect(call.fake.upgrades()).toBe(2);
  });

  it('fails the call without audio after a second 429', async () => {
    call = await placeRealtimeCall({ nasty: { refuseUpgrades: { status: 429, times: 2 } } });
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.failed?.message).toContain('429');
    expect(call.line.heard).toEqual([]);
    expect(call.fake.upgrades()).toBe(2);
  });

  it('dials again once if the provider disappears for good', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.kill();
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.fake.upgrades()).toBe(2);
    expect(call.line.agentTurns().at(-1)).toMatch(/^I am sorry/);
  });

  it('apologises in a resumed call that finds no provider', async () => {
    call = await placeRealtimeCall({
      nasty: { refuseUpgrades: { status: 503, times: 9 } },
      call: { resume: { turns: [{ speaker: 'agent', text: GREETING, startMs: 0, endMs: 5_000 }], values: {} } },
    });
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.agentTurns()).toEqual([expect.stringMatching(/^I am sorry/)]);
  });

  it('ignores occasional garbage, and treats repeated garbage as an outage', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    const { socket } = call.session();
    const event = JSON.stringify({ type: 'rate_limits.updated', rate_limits: [] });
    for (const garbage of ['{"type":', '[]', event, '{"type":"response.done","response":{"id":7}}', 'null', event]) {
      socket.send(garbage);
    }
    await call.ask();
    expect(call.fake.upgrades()).toBe(1);
    for (const garbage of ['<html>', '{', '"x"']) socket.send(garbage);
    await eventually(() => call.fake.upgrades() === 2, ANSWER_MS);
    await eventually(() => call.line.agentTurns().includes(BRIDGE), ANSWER_MS);
    expect(call.line.failed).toBeUndefined();
  });

  it('repeats the request after a failed response, and ignores error events and rate limits', async () => {
    call = await placeRealtimeCall({ nasty: { failResponses: 1 } });
    await call.greeted();
    expect(call.line.agentTurns()[0]).not.toBe('');
    call.session().send({ type: 'error', error: { type: 'server_error', code: null, message: 'x', event_id: null } });
    await call.ask();
    expect(call.line.failed).toBeUndefined();
    expect(call.fake.upgrades()).toBe(1);
  });

  it('fails the call if the provider rejects the session', async () => {
    call = await placeRealtimeCall({ env: { OPENAI_API_KEY: 'wrong-key' } });
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.failed?.message).toContain('401');
    expect(call.line.failed?.message).not.toContain('wrong-key');
  });

  it('detects a half-open socket and continues the call', async () => {
    call = await placeRealtimeCall({ timings: { pingEveryMs: 400 } });
    await call.greeted();
    call.session().socket.pause();
    await eventually(() => call.fake.upgrades() === 2, ANSWER_MS);
    await eventually(() => call.line.agentTurns().includes(BRIDGE), ANSWER_MS);
    expect(call.line.failed).toBeUndefined();
  });

  it('starts a new session silently before the provider ends the old one', async () => {
    call = await placeRealtimeCall({ timings: { renewAfterMs: 8_000 } });
    await call.greeted();
    await call.ask('I have a question.');
    const shown = (speaker: string) =>
      call.line.interim.flatMap((each) => (each.speaker === speaker ? [each.text] : []));
    expect(shown('caller')).toEqual(['Something ', 'Something was ', 'Something was said.']);
    expect(shown('agent').filter((text) => text !== '' && GREETING.startsWith(text)).length).toBeGreaterThan(2);
    await eventually(() => call.fake.upgrades() === 2, ANSWER_MS);
    const before = call.line.agentTurns();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(call.line.agentTurns()).toEqual(before);
    expect(call.session().instructions()).toContain('Something was said.');
    // The caller noticed nothing, so the instructions do not mention an interruption.
    expect(call.session().instructions()).not.toMatch(/line broke|bridging/);
    await call.ask();
    expect(call.line.failed).toBeUndefined();
  }, 90_000);

  it('reprompts in the new session if the reprompt is due before that session is open', async () => {
    call = await placeRealtimeCall({
      silence: { promptAfterMs: 2_000, endAfterMs: 60_000 },
      timings: { renewAfterMs: 1_000 },
    });
    call.fake.nasty.upgradeMs = 4_000;
    await call.greeted();
    await eventually(() => call.line.failed !== undefined || call.line.agentTurns().length > 1, ANSWER_MS);
    expect(call.line.failed).toBeUndefined();
    expect(call.line.agentTurns()[1]).toBe(ASIDE);
    expect(call.fake.sessions[1]?.events.map(({ type }) => type)).toContain('response.create');
  });

  it('introduces itself again if its first words were not played', async () => {
    call = await placeRealtimeCall({
      script: [{ hears: 'Hello?', says: GREETING }],
      timings: { greetingPlayedMs: 4_000 },
    });
    const speech = await call.speech('Hello?');
    await eventually(() => call.line.heard.length > 10, ANSWER_MS);
    call.line.say(speech);
    await call.spoken(1);
    const itemTexts = call.sent('conversation.item.create').map(({ item }) => item?.content?.[0]?.text);
    expect(itemTexts).toEqual([expect.stringMatching(/Introduce yourself again/)]);
  });

  it('keeps words in order if the provider sends them late', async () => {
    call = await placeRealtimeCall({ nasty: { speed: 0, lateTranscripts: true } });
    await call.greeted();
    expect(call.line.agentTurns()).toEqual([GREETING]);
  });

  it('reports how long the caller waited, by component', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    await call.ask();
    const [latency] = call.line.latencies;
    expect(call.line.latencies).toHaveLength(1);
    expect(latency?.parts?.['recogniser']).toBeGreaterThanOrEqual(400);
    expect(latency?.totalMs).toBe((latency?.parts?.['recogniser'] ?? 0) + (latency?.parts?.['model'] ?? 0));
    const reply = call.line.turns.at(-1);
    expect(Math.abs((reply?.startMs ?? 0) - (latency?.atMs ?? 0))).toBeLessThan(2_500);
  });

  it('replies once at a time if the caller speaks while a tool runs', async () => {
    call = await placeRealtimeCall({
      nasty: { speed: 1 },
      script: [
        { hears: 'Look it up.', calls: { name: 'look_up', arguments: {} } },
        { hears: 'Are you there?', says: LONG },
      ],
      answerTool: () => new Promise((resolve) => setTimeout(resolve, 10_000, { ok: true, result: 'found' })),
    });
    await call.greeted();
    call.line.say(await call.speech('Look it up.'));
    await eventually(() => call.line.tools.length > 0, ANSWER_MS);
    await eventually(() => call.line.agentTurns().includes('One moment, please.'), ANSWER_MS);
    call.line.say(await call.speech('Are you there?'));
    await eventually(() => call.line.agentTurns().some((text) => text.includes('found')), ANSWER_MS);
    expect(call.line.agentTurns().filter((text) => text === LONG)).toHaveLength(1);
    expect(call.fake.upgrades()).toBe(1);
  }, 90_000);

  it('reports the usage of the provider and its price', async () => {
    call = await placeRealtimeCall({
      env: {
        ENGINE_PRICES:
          'realtime_input_text_tokens=4,realtime_input_audio_tokens=32,realtime_cached_text_tokens=0.4,' +
          'realtime_cached_audio_tokens=0.4,realtime_output_text_tokens=16,realtime_output_audio_tokens=64,' +
          'transcription_input_tokens=1.25,transcription_output_tokens=5,chat_input_tokens=0.4,' +
          'chat_cached_input_tokens=0.1,chat_output_tokens=1.6,call_seconds=0',
      },
    });
    await call.greeted();
    await call.ask();
    const soFar = call.line.usage()?.units;
    const { usage } = await call.line.hangUp();
    expect(soFar).toMatchObject({ realtime_input_text_tokens: 80, realtime_output_audio_tokens: 120 });
    expect(usage?.units).toMatchObject({
      realtime_input_text_tokens: 80,
      realtime_input_audio_tokens: 60,
      realtime_cached_text_tokens: 40,
      realtime_cached_audio_tokens: 20,
      realtime_output_text_tokens: 30,
      realtime_output_audio_tokens: 120,
      transcription_input_tokens: 10,
      transcription_output_tokens: 5,
      chat_input_tokens: 100,
      chat_cached_input_tokens: 20,
      chat_output_tokens: 30,
    });
    // The costs of the call's parts in micro-USD: 320 + 1,920 + 16 + 8 + 480 + 7,680 + 12.5 + 25 + 40 + 2 + 48
    expect(usage?.costMicros).toBe(10_552);
  });
});
