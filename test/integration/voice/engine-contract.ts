import type { Engine, EngineCall, EngineFactory, ToolCall } from '../../../src/voice/engines/port.js';
import { CALL } from './support/contract-call';
import { openEngineLine } from './support/engine-line';
import type { EngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';
import { openResources } from './support/open-resources';
import { createRequirements, type LeftOut } from './support/requirements';

/** The words that the scripted provider hears, and its response. */
export interface ScriptedTurn {
  hears: string;
  says?: string;
  /** The provider calls this tool, or these at once, after it has spoken. */
  calls?: ToolCall | readonly ToolCall[];
}

/** An engine that must fulfil the contract. The engine is real; only the providers behind its sockets are fakes. */
export interface EngineHarness {
  /** Creates the engine. The suite warms it up. */
  factory: EngineFactory;
  /** Matches the engine's first words in a new call. The engine never says them in a resumed call. */
  greeting: RegExp;
  /** The agent's words before a resume, for engines that find their introduction in the transcript by its words. */
  introduction?: string;
  /** Fields of the call for which this engine needs other values than those of the suite, such as `outputTemplate`. */
  call?: Partial<EngineCall>;
  /** Synthesizes speech of the caller, 8 kHz mu-law. */
  speak(text: string): Promise<Uint8Array>;
  /** The caller's words, each said after the engine's reply, until the engine says goodbye and ends the call. */
  linesToGoodbye: readonly ScriptedTurn[];
  /** DTMF digits to which the engine replies after its greeting; undefined if the engine accepts no digits. */
  keys?: string;
  /** Sets the provider's responses to the caller's turns of the next call; undefined if the engine has no provider. */
  script?(turns: readonly ScriptedTurn[]): void;
  /** Makes the provider accept everything and respond to nothing from now on. */
  hang?(): void;
  /** Makes the provider break every connection and reject new ones from now on. */
  kill?(): void;
  close(): Promise<void>;
}

export interface HarnessOptions {
  /** The engine's silence timeouts, ms. */
  silence?: { promptAfterMs: number; endAfterMs: number };
}

export type MakeHarness = (options: HarnessOptions) => Promise<EngineHarness>;

/** By design, the agent's first word comes within one second. The test allows five, because its machine is busy. */
const FIRST_WORD_MS = 5_000;
const ANSWER_MS = 20_000;

/**
 * The requirements for every engine. Each test creates its own engine and provider.
 * @param leftOut tests that could not differ from those of another run of the suite
 */
export function describeEngineContract(name: string, makeHarness: MakeHarness, leftOut: LeftOut = {}): void {
  const requirements = createRequirements(leftOut);
  const { requirement } = requirements;

  describe(`the engine contract of ${name}`, () => {
    let harness: EngineHarness;
    let lines: EngineLine[] = [];

    async function prepare(options: HarnessOptions = {}): Promise<void> {
      harness = await makeHarness(options);
      await harness.factory.warm();
    }

    function dial(changes: Partial<EngineCall> = {}, engine: Engine = harness.factory.create()): EngineLine {
      const line = openEngineLine(engine, { ...CALL, ...harness.call, ...changes }, (tool) =>
        tool.name === 'look_up' ? { ok: true, result: { doctor: 'Doctor Quimby' } } : { ok: true, result: 'done' },
      );
      lines.push(line);
      return line;
    }

    afterEach(async () => {
      const dialed = lines;
      lines = [];
      try {
        await Promise.all(dialed.map((line) => line.hangUp()));
        expect(dialed.flatMap((line) => line.afterStop)).toEqual([]);
      } finally {
        await harness.factory.close();
        await harness.close();
      }
    });

    /** Waits until the agent has had another turn and all of it was played. */
    async function waitForAgentTurn(line: EngineLine, before: number): Promise<void> {
      await eventually(() => line.agentTurns().length > before && !line.isPlaying(), ANSWER_MS);
    }

    async function waitForGreeting(line: EngineLine): Promise<void> {
      await waitForAgentTurn(line, 0);
    }

    requirement('greets first, without delay', async () => {
      await prepare();
      const line = dial();
      await eventually(() => line.firstHeardMs !== undefined, FIRST_WORD_MS);
      await waitForGreeting(line);
      expect(line.turns[0]).toMatchObject({ speaker: 'agent' });
      expect(line.turns[0]?.text).toMatch(harness.greeting);
    });

    requirement('sends audio in whole frames, by items that end once and stay ended', async () => {
      await prepare();
      const line = dial();
      await waitForGreeting(line);
      expect([...line.frameSizes]).toEqual([160]);
      const loud = line.heard.filter((frame) => frame.some((byte) => (byte & 0x7f) < 0x60));
      expect(loud.length).toBeGreaterThan(line.heard.length / 4);
      const open = new Set<string>();
      const ended = new Set<string>();
      for (const event of line.events) {
        if (event.kind === 'audio') {
          expect(event.bytes).toBeGreaterThan(0);
          expect(ended).not.toContain(event.itemId);
          open.add(event.itemId);
        } else if (event.kind === 'endOfItem') {
          expect(ended).not.toContain(event.itemId);
          ended.add(event.itemId);
        }
      }
      expect([...open].filter((itemId) => !ended.has(itemId))).toEqual([]);
    });

    requirement('stops speaking on a barge-in and transcribes only what was played', async () => {
      await prepare();
      harness.script?.([{ hears: 'Excuse me, who is speaking please?', says: 'It is the clinic.' }]);
      const speech = await harness.speak('Excuse me, who is speaking please? I did not get your name.');
      const line = dial();
      await eventually(() => line.heard.length > 25, ANSWER_MS);
      line.say(speech);
      await eventually(() => line.clears() > 0, ANSWER_MS);
      const cleared = line.events.find(({ kind }) => kind === 'clear');
      const itemsBefore = new Set(
        line.events.flatMap((event) =>
          event.kind === 'audio' && event.atMs <= (cleared?.atMs ?? 0) ? [event.itemId] : [],
        ),
      );
      await waitForAgentTurn(line, 1);
      const late = line.events.filter(
        (event) => event.kind === 'audio' && event.atMs > (cleared?.atMs ?? 0) && itemsBefore.has(event.itemId),
      );
      expect(late).toEqual([]);
      const [first] = line.turns.filter(({ speaker }) => speaker === 'agent');
      expect((first?.endMs ?? 0) - (first?.startMs ?? 0)).toBeGreaterThan(0);
      expect(first?.endMs).toBeLessThanOrEqual((cleared?.atMs ?? 0) + 500);
    });

    requirement('keeps a transcript of both sides with times in the order of the conversation', async () => {
      await prepare();
      const [turn] = harness.linesToGoodbye;
      if (turn === undefined) throw new Error('the harness has no lines');
      harness.script?.([{ says: 'Thank you. What else?', hears: turn.hears }]);
      const line = dial();
      await waitForGreeting(line);
      const speech = await harness.speak(turn.hears);
      const beforeMs = line.now();
      line.say(speech);
      await waitForAgentTurn(line, 1);
      await eventually(() => line.callerTurns().length > 0);
      const turns = line.turns.toSorted((a, b) => a.startMs - b.startMs);
      expect(turns.map(({ speaker }) => speaker)).toEqual(['agent', 'caller', 'agent']);
      for (const { startMs, endMs, text } of turns) {
        expect(Number.isInteger(startMs) && Number.isInteger(endMs)).toBe(true);
        expect(endMs).toBeGreaterThan(startMs);
        expect(text.trim()).not.toBe('');
      }
      expect(Math.abs((turns[1]?.startMs ?? 0) - beforeMs)).toBeLessThan(2_500);
      expect(turns[2]?.startMs).toBeGreaterThanOrEqual(turns[1]?.endMs ?? Infinity);
    });

    requirement(
      'ends the call after its goodbye was played',
      async () => {
        await prepare();
        harness.script?.(harness.linesToGoodbye);
        const line = dial();
        await waitForGreeting(line);
        for (const { hears } of harness.linesToGoodbye) {
          const before = line.agentTurns().length;
          line.say(await harness.speak(hears));
          await eventually(
            () => line.ended !== undefined || (line.agentTurns().length > before && !line.isPlaying()),
            ANSWER_MS,
          );
        }
        await eventually(() => line.ended !== undefined, ANSWER_MS);
        expect(line.ended).toBe('agent_hangup');
        expect(line.failed).toBeUndefined();
        await line.hangUp();
        expect(line.turns.toSorted((a, b) => a.startMs - b.startMs).at(-1)?.speaker).toBe('agent');
      },
      120_000,
    );

    requirement('calls a tool and continues with its result', async () => {
      await prepare();
      if (harness.script === undefined) return expect(harness.factory.create().capabilities.freeForm).toBe(false);
      harness.script([
        { hears: 'With which doctor is it?', calls: { name: 'look_up', arguments: { day: 'tomorrow' } } },
      ]);
      const line = dial();
      await waitForGreeting(line);
      line.say(await harness.speak('With which doctor is it?'));
      await eventually(() => line.tools.length > 0, ANSWER_MS);
      expect(line.tools).toEqual([{ name: 'look_up', arguments: { day: 'tomorrow' } }]);
      // The scripted provider repeats the result of the tool.
      await eventually(() => line.agentTurns().some((text) => text.includes('Doctor Quimby')), ANSWER_MS);
    });

    requirement('replies to DTMF digits', async () => {
      await prepare();
      const { keys } = harness;
      if (keys === undefined) return expect(harness.factory.create().capabilities.dtmf).toBe(false);
      const engine = harness.factory.create();
      expect(engine.capabilities.dtmf).toBe(true);
      const line = dial({}, engine);
      await waitForGreeting(line);
      for (const key of keys) engine.onDtmf(key);
      await waitForAgentTurn(line, 1);
      const pressed = line.callerTurns().join(' ').replace(/\D/g, '');
      expect(pressed).toContain(keys.replace(/\D/g, ''));
    });

    requirement(
      'reprompts a silent caller, and ends the call when the silence continues',
      async () => {
        await prepare({ silence: { promptAfterMs: 2_000, endAfterMs: 7_000 } });
        const line = dial();
        await waitForGreeting(line);
        await eventually(() => line.ended !== undefined, 60_000);
        expect(line.ended).toBe('silence');
        await line.hangUp();
        expect(line.agentTurns().length).toBe(3);
        expect(line.callerTurns()).toEqual([]);
      },
      90_000,
    );

    requirement('does not treat a speaking caller as silent', async () => {
      await prepare({ silence: { promptAfterMs: 4_000, endAfterMs: 60_000 } });
      harness.script?.([{ hears: 'A long story.', says: 'I see.' }]);
      const line = dial();
      await waitForGreeting(line);
      const speech = await harness.speak('Well, you see, it is like this.');
      const before = line.agentTurns().length;
      const speaksUntil = line.now() + 6_000;
      while (line.now() < speaksUntil) {
        if (!line.callerSpeaks()) line.say(speech);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(line.agentTurns().length).toBe(before);
    });

    requirement('announces the forced end of the call', async () => {
      await prepare();
      const engine = harness.factory.create();
      const line = dial({}, engine);
      await waitForGreeting(line);
      engine.onEndingSoon?.(20);
      await waitForAgentTurn(line, 1);
      expect(line.agentTurns()[1]).not.toMatch(harness.greeting);
    });

    requirement('resumes an interrupted call with one sentence and no greeting', async () => {
      await prepare();
      const line = dial({
        resume: {
          turns: [
            {
              speaker: 'agent',
              text: harness.introduction ?? 'Hello, this is the clinic.',
              startMs: 300,
              endMs: 2_000,
            },
            { speaker: 'caller', text: 'Yes, speaking.', startMs: 2_500, endMs: 3_200 },
          ],
          values: { confirmed: false, note: null },
        },
      });
      await eventually(() => line.firstHeardMs !== undefined, FIRST_WORD_MS);
      await waitForAgentTurn(line, 0);
      for (const text of line.agentTurns()) expect(text).not.toMatch(harness.greeting);
      expect(line.turns[0]?.startMs).toBeGreaterThanOrEqual(0);
    });

    requirement('returns values for exactly the keys of the template, and a summary', async () => {
      await prepare();
      const line = dial();
      await waitForGreeting(line);
      const result = await line.hangUp();
      const template = { ...CALL, ...harness.call }.outputTemplate;
      expect(Object.keys(result.outputParameters).toSorted()).toEqual(Object.keys(template).toSorted());
      for (const [key, value] of Object.entries(result.outputParameters)) {
        const byDefault = template[key];
        if (value === null || byDefault === null || byDefault === undefined) continue;
        expect(typeof value).toBe(typeof byDefault);
      }
      expect(result.summary.trim()).not.toBe('');
    });

    requirement('stops within five seconds even if its provider no longer responds', async () => {
      await prepare();
      const line = dial();
      await waitForGreeting(line);
      harness.hang?.();
      line.say(await harness.speak('Are you there?'));
      await new Promise((resolve) => setTimeout(resolve, 500));
      const stopRequestedAt = performance.now();
      const result = await line.hangUp();
      expect(performance.now() - stopRequestedAt).toBeLessThan(5_000);
      expect(Object.keys(result.outputParameters).length).toBeGreaterThan(0);
      expect(result.summary.trim()).not.toBe('');
    });

    requirement('stops at once right after its start', async () => {
      await prepare();
      const line = dial();
      const result = await line.hangUp();
      expect(result.summary.trim()).not.toBe('');
      expect(line.turns).toEqual([]);
    });

    requirement(
      'apologises and fails the call when its provider disappears during the call',
      async () => {
        await prepare();
        const line = dial();
        await waitForGreeting(line);
        if (harness.kill === undefined) return expect(harness.script === undefined).toBe(true);
        const before = line.agentTurns().length;
        harness.kill();
        line.say(await harness.speak('Are you still there?'));
        await eventually(() => line.failed !== undefined, 60_000);
        // The carrier has returned marks, so the caller has heard the agent. The call therefore counts as COMPLETED, with
        // media_failed as its end reason.
        expect(line.agentTurns().length).toBeGreaterThan(before);
        expect(line.agentTurns().at(-1)).toMatch(/sorry/i);
        return undefined;
      },
      90_000,
    );

    requirement(
      'fails a call without audio if its provider was never available, so that the call is free',
      async () => {
        await prepare();
        if (harness.kill === undefined) return expect(harness.script === undefined).toBe(true);
        harness.kill();
        const line = dial();
        await eventually(() => line.failed !== undefined, 60_000);
        expect(line.heard).toEqual([]);
        return undefined;
      },
      90_000,
    );

    requirement('keeps two calls separate', async () => {
      await prepare();
      harness.script?.([{ hears: 'I am the first.', says: 'Hello, first.' }]);
      const first = dial({ callId: 'call_first' });
      await waitForGreeting(first);
      harness.script?.([]);
      const second = dial({ callId: 'call_second' });
      await waitForGreeting(second);
      const heardBySecond = second.heard.length;
      first.say(await harness.speak('I am the first.'));
      await waitForAgentTurn(first, 1);
      await eventually(() => first.callerTurns().length > 0);
      expect(second.callerTurns()).toEqual([]);
      expect(second.agentTurns().length).toBe(1);
      expect(second.heard.length).toBe(heardBySecond);
      const ids = (line: EngineLine) =>
        new Set(line.events.flatMap((event) => (event.kind === 'audio' ? [event.itemId] : [])));
      expect(ids(first).size).toBeGreaterThan(ids(second).size);
    });

    requirement('leaves no timer and no socket', async () => {
      await prepare();
      const before = await openResources();
      const line = dial();
      await waitForGreeting(line);
      line.say(await harness.speak('Hello?'));
      await eventually(() => line.callerTurns().length > 0, ANSWER_MS);
      await line.hangUp();
      await eventually(async () => {
        const after = await openResources();
        return after.timers <= before.timers && after.sockets <= before.sockets;
      }, 15_000);
    });
  });

  requirements.checkNames();
}
