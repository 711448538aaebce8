import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { encodeMulaw } from '../../src/voice/audio/mulaw.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { INTRODUCTION } from '../../src/voice/engines/offline/phrases.js';
import type { TranscriptTurn } from '../../src/voice/engines/port.js';
import { CALL, connect, until } from '../support/engine-line';
import { silence } from '../support/spoken';

jest.setTimeout(120_000);

const BEEP = encodeMulaw(Int16Array.from({ length: 4_000 }, (_, i) => 9_000 * Math.sin((2 * Math.PI * i) / 8)));
const GREETING =
  'You have reached the voice mail of Ada Lovelace. I cannot take your call right now. ' +
  'Please leave your name, your number and a short message after the tone.';

const agentTurn = (text: string): TranscriptTurn => ({ speaker: 'agent', text, startMs: 300, endMs: 900 });

describe('the offline engine', () => {
  const synthesizer = createSynthesizer();
  const factory = createOfflineEngine();
  /** An engine with short silence timeouts. */
  const quick = createOfflineEngine({ timing: { promptAfterMs: 4_000, endAfterMs: 8_000 } });
  const speak = (text: string) => synthesizer.speak(text, 'rms');
  /** Warms up the engines here, because concurrent tests begin before any hook. */
  const warm = Promise.all([factory.warm(), quick.warm()]);
  const newEngine = async () => {
    await warm;
    return factory.create();
  };
  afterAll(() => Promise.all([synthesizer.close(), factory.close(), quick.close()]));

  it.concurrent('asks its questions, understands the answers and ends the call', async () => {
    const outputTemplate = { appointment_confirmed: false, code: null, size: 'small|medium|large' };
    const line = connect(await newEngine(), { outputTemplate });
    expect(await line.agentTurn()).toBe(
      'Hello. This is an automated assistant. I am calling about your table for two. ' +
        'Appointment confirmed? Please say yes or no.',
    );
    line.say(await speak('Yes.'));
    expect(await line.agentTurn()).toBe('Thank you. What is your code? Please say or enter the digits.');
    line.say(await speak('Four one five two.'));
    expect(await line.agentTurn()).toBe('I heard 4, 1, 5, 2. Is that right?');
    line.say(await speak('Yes, that is right.'));
    expect(await line.agentTurn()).toBe('Thank you. Which size: small, medium or large?');
    line.say(await speak('Large.'));
    expect(await line.ended).toBe('agent_hangup');
    const result = await line.stop();

    expect(result.outputParameters).toEqual({ appointment_confirmed: true, code: '4152', size: 'large' });
    expect(line.values).toEqual(result.outputParameters);
    expect(result.answeredBy).toBe('human');
    expect(result.summary).toMatch(
      /^Automatic summary, not AI \(offline demo engine\): 3 of 3 questions were answered in \d+ s: appointment confirmed: yes; code: 4152; size: large\.$/,
    );
    expect(line.transcript.filter(({ speaker }) => speaker === 'caller').map(({ text }) => text)).toEqual([
      'yes',
      'four one five two',
      'yes that is right',
      'large',
    ]);
    const starts = line.transcript.map(({ startMs }) => startMs);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(line.latencies).toHaveLength(4);
    for (const { totalMs, parts = {} } of line.latencies) {
      expect(Object.keys(parts).toSorted()).toEqual(['own', 'pause', 'recogniser', 'voice']);
      expect(Object.values(parts).reduce((sum, ms) => sum + ms)).toBeCloseTo(totalMs, 3);
      expect(parts['pause']).toBeGreaterThanOrEqual(550);
    }
    expect(line.failures).toEqual([]);
  });

  it.concurrent('stops speaking when the caller interrupts', async () => {
    const line = connect(await newEngine(), { outputTemplate: { agreed: false, code: null } });
    await until(() => line.heard.length > 150);
    line.say(await speak('Hold on a moment, let me get my husband.'));
    await until(() => line.clearedAt.length === 1);
    // The question comes last in the introduction, and the caller did not hear it.
    expect(await line.agentTurn(2)).toBe('Agreed? Please say yes or no.');
    expect(line.transcript.map(({ text }) => text).slice(0, 2)).toEqual([
      expect.stringMatching(/\(interrupted\)$/),
      '(speech)',
    ]);
    await line.stop();
  });

  it.concurrent('accepts DTMF digits at any time', async () => {
    const engine = await newEngine();
    const line = connect(engine, { outputTemplate: { agreed: false, code: null } });
    await until(() => line.heard.length > 50);
    engine.onDtmf('1');
    await until(() => line.clearedAt.length === 1);
    expect(await line.agentTurn(2)).toBe('Thank you. What is your code? Please say or enter the digits.');
    for (const key of '415#') engine.onDtmf(key);
    expect(await line.ended).toBe('agent_hangup');
    const result = await line.stop();
    expect(result.outputParameters).toEqual({ agreed: true, code: '415' });
    expect(line.transcript.filter(({ speaker }) => speaker === 'caller').map(({ text }) => text)).toEqual([
      '(keys: 1)',
      '(keys: 4 1 5 #)',
    ]);
  });

  it.concurrent('keeps DTMF digits around a noise, and still ends the call after silence', async () => {
    await warm;
    const engine = quick.create();
    const line = connect(engine, { outputTemplate: { code: null, agreed: false } });
    await line.agentTurn();
    for (const key of '41') engine.onDtmf(key);
    line.say(await speak('Newspaper.'));
    await until(() => line.transcript.some(({ text }) => text === '(speech)'));
    for (const key of '5#') engine.onDtmf(key);
    await until(() => line.values['code'] !== undefined);
    expect(line.values).toEqual({ code: '415' });
    expect(await line.ended).toBe('silence');
    expect((await line.stop()).outputParameters).toEqual({ code: '415', agreed: null });
  });

  it.concurrent('prefers speech to an unfinished DTMF answer, and still ends the call after silence', async () => {
    await warm;
    const engine = quick.create();
    const line = connect(engine, { outputTemplate: { code: null } });
    await line.agentTurn();
    engine.onDtmf('4');
    line.say(await speak('Seven.'));
    expect(await line.agentTurn()).toBe('I heard 7. Is that right?');
    expect(await line.ended).toBe('silence');
    await line.stop();
  });

  it.concurrent('keeps DTMF digits of a caller who hangs up in the transcript', async () => {
    const engine = await newEngine();
    const line = connect(engine, { outputTemplate: { code: null } });
    await line.agentTurn();
    for (const key of '415') engine.onDtmf(key);
    await line.stop();
    expect(line.transcript.at(-1)).toMatchObject({ speaker: 'caller', text: '(keys: 4 1 5)' });
  });

  it.concurrent('asks and understands a caller who interrupts its greeting twice', async () => {
    const line = connect(await newEngine(), { outputTemplate: { agreed: false } });
    for (const clears of [1, 2]) {
      await until(() => line.isPlaying());
      line.say(await speak('Hello? Who is that?'));
      await until(() => line.clearedAt.length === clears && !line.isPlaying());
    }
    // It must still say that it is a machine.
    expect(await line.agentTurn(3)).toMatch(
      /^Hello\. This is an automated assistant\. .*Agreed\? Please say yes or no\.$/,
    );
    line.say(await speak('Yes.'));
    expect(await line.ended).toBe('agent_hangup');
    expect((await line.stop()).outputParameters).toEqual({ agreed: true });
  });

  it.concurrent('ignores an answer to a question that the caller has not heard', async () => {
    const line = connect(await newEngine(), { outputTemplate: { agreed: false, smoker: false } });
    await line.agentTurn();
    line.say(Buffer.concat([await speak('Yes.'), silence(750), await speak('Yes, that is right.')]));
    expect(await line.agentTurn(2)).toBe('Smoker? Please say yes or no.');
    expect(line.values).toEqual({ agreed: true });
    await line.stop();
  });

  it.concurrent('says the instruction of the request, without the AI disclosure if it is turned off', async () => {
    const line = connect(await newEngine(), {
      instruction: 'Good day, {{name}}. Be brief.',
      inputParameters: { name: 'Ada' },
      disclosesAi: false,
    });
    expect(await line.agentTurn()).toBe('Good day, Ada.');
    await line.stop();
  });

  it.concurrent('continues after a lost stream with a bridging sentence and the first open question', async () => {
    const line = connect(await newEngine(), {
      outputTemplate: { agreed: false, size: 'small|large' },
      resume: { turns: [agentTurn(`${INTRODUCTION} Agreed?`)], values: { agreed: true } },
    });
    expect(await line.agentTurn()).toBe('Sorry, the line broke for a moment. Which size: small or large?');
    line.say(await speak('Small.'));
    expect(await line.ended).toBe('agent_hangup');
    expect((await line.stop()).outputParameters).toEqual({ agreed: true, size: 'small' });
  });

  it.concurrent('repeats the AI disclosure after a lost stream if the caller has not heard all of it', async () => {
    const heard = agentTurn('Hello. This is an (interrupted)');
    const line = connect(await newEngine(), { resume: { turns: [heard], values: {} } });
    expect(await line.agentTurn()).toBe(`${INTRODUCTION} I am calling about your table for two.`);
    await line.stop();
  });

  it.concurrent('understands an answer right before the caller hangs up', async () => {
    const line = connect(await newEngine(), { outputTemplate: { agreed: false } });
    await line.agentTurn();
    const answer = await speak('Yes.');
    line.say(answer);
    await new Promise((resolve) => setTimeout(resolve, answer.length / 8 + 150));
    expect((await line.stop()).outputParameters).toEqual({ agreed: true });
  });

  describe('on an answering machine', () => {
    it.concurrent('hangs up at the tone without speaking', async () => {
      const line = connect(await newEngine(), { outputTemplate: { agreed: false } });
      line.say(Buffer.concat([await speak('Hi, this is Ada, leave a message.'), silence(300), BEEP]));
      expect(await line.ended).toBe('voicemail');
      const result = await line.stop();
      expect(result).toMatchObject({ answeredBy: 'voicemail', outputParameters: { agreed: null } });
      expect(result.summary).toMatch(/an answering machine took the call/);
    });

    it.concurrent('leaves the message once, after the tone, and hangs up', async () => {
      const message = 'Your table is ready, {{name}}.';
      const line = connect(await newEngine(), {
        inputParameters: { name: 'Ada' },
        voicemail: { action: 'leave_message', message },
      });
      line.say(Buffer.concat([await speak(GREETING), silence(700), BEEP]));
      expect(await line.ended).toBe('voicemail');
      const beepOverMs = (await speak(GREETING)).length / 8 + 1_200;
      const result = await line.stop();
      expect(result.answeredBy).toBe('voicemail');
      const last = line.transcript.at(-1);
      expect(last?.text).toBe('Your table is ready, Ada.');
      expect(last?.startMs).toBeGreaterThan(beepOverMs - 300);
    });

    it.concurrent('leaves it after a long greeting without a tone, or when the carrier detects the machine', async () => {
      // Synthesizes the greeting before the call begins. If the greeting began late, the engine would take it for a
      // person's.
      const greeting = await speak(GREETING);
      const engine = await newEngine();
      const long = connect(await newEngine(), { voicemail: { action: 'leave_message' } });
      const detected = connect(engine, { voicemail: { action: 'leave_message' } });
      long.say(greeting);
      engine.onAnsweredBy?.('voicemail');
      expect(await Promise.all([long.ended, detected.ended])).toEqual(['voicemail', 'voicemail']);
      for (const line of [long, detected]) {
        expect(line.transcript.at(-1)?.text).toBe(
          'Hello. This is an automated assistant. I am calling about your table for two.',
        );
        expect((await line.stop()).answeredBy).toBe('voicemail');
      }
    });

    it.concurrent('continues the conversation if the agent is set to', async () => {
      const line = connect(await newEngine(), {
        outputTemplate: { agreed: false },
        voicemail: { action: 'continue' },
      });
      const greeting = Buffer.concat([await speak(GREETING), silence(500), BEEP]);
      line.say(greeting);
      const overMs = line.now() + greeting.length / 8;
      await until(() => line.transcript.some(({ speaker, endMs }) => speaker === 'agent' && endMs > overMs + 1_000));
      expect((await line.stop()).answeredBy).toBe('voicemail');
    });

    it.concurrent('detects no machine on an inbound call', async () => {
      const line = connect(await newEngine(), { ...CALL, direction: 'inbound' });
      line.say(Buffer.concat([await speak('Hello?'), silence(200), BEEP]));
      await line.agentTurn();
      expect((await line.stop()).answeredBy).toBeUndefined();
      expect(line.answeredBy).toBeUndefined();
    });
  });
});
