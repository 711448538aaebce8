import type { Engine, EngineCall, EngineFactory, ToolCall } from '../../../src/voice/engines/port.js';
import { CALL } from './support/contract-call';
import { openEngineLine } from './support/engine-line';
import type { EngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';

/** What happens at one turn of the caller's: how a scripted provider hears it, and what it answers. */
export interface ScriptedTurn {
  hears: string;
  says?: string;
  /** The provider calls this tool after what it says. */
  calls?: ToolCall;
}

/** How an engine is brought under the contract: the engine itself is real, only what stands behind its sockets is not. */
export interface EngineHarness {
  /** Warmed by the suite. */
  factory: EngineFactory;
  /** What the engine says first in a call that begins: never in one that goes on. */
  greeting: RegExp;
  /** What the agent has said before a call goes on, where the engine knows its own introduction by its words. */
  introduction?: string;
  /** Parts of the call that this engine needs otherwise than the suite has them, such as its template. */
  call?: Partial<EngineCall>;
  /** Caller's speech, 8 kHz mu-law. */
  speak(text: string): Promise<Uint8Array>;
  /** Said one after the other, each after the engine's answer to the last, these lead to a goodbye and the end. */
  linesToGoodbye: readonly ScriptedTurn[];
  /** Keys that the engine answers by speaking when it has greeted; absent: it takes none. */
  keys?: string;
  /** What the provider makes of the caller's turns of the next call to start; absent: no provider stands behind it. */
  script?(turns: readonly ScriptedTurn[]): void;
  /** From now on the provider takes everything and answers nothing. */
  hang?(): void;
  /** From now on the provider breaks every connection and refuses new ones. */
  kill?(): void;
  close(): Promise<void>;
}

export interface HarnessOptions {
  /** The engine's patience with silence, ms. */
  silence?: { promptAfterMs: number; endAfterMs: number };
}

export type MakeHarness = (options: HarnessOptions) => Promise<EngineHarness>;

/** Where a second is promised, five are allowed: the box that runs this is busy. */
const FIRST_WORD_MS = 5_000;
const ANSWER_MS = 20_000;

/** What every engine must do, whatever stands behind it. Each test makes an engine and a provider of its own. */
export function describeEngineContract(name: string, makeHarness: MakeHarness): void {
  describe(`the engine contract, kept by ${name}`, () => {
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

    /** The agent has said something more, and was heard to its end. */
    async function agentSpoke(line: EngineLine, before: number): Promise<void> {
      await eventually(() => line.agentTurns().length > before && !line.isPlaying(), ANSWER_MS);
    }

    async function greeted(line: EngineLine): Promise<void> {
      await agentSpoke(line, 0);
    }

    it('greets first, and within a second', async () => {
      await prepare();
      const line = dial();
      await eventually(() => line.firstHeardMs !== undefined, FIRST_WORD_MS);
      await greeted(line);
      expect(line.turns[0]).toMatchObject({ speaker: 'agent' });
      expect(line.turns[0]?.text).toMatch(harness.greeting);
    });

    it('hands out audio that makes whole frames, by items that end once and stay ended', async () => {
      await prepare();
      const line = dial();
      await greeted(line);
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

    it('stops speaking when the caller talks over it, and says in the transcript only what was heard', async () => {
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
      await agentSpoke(line, 1);
      const late = line.events.filter(
        (event) => event.kind === 'audio' && event.atMs > (cleared?.atMs ?? 0) && itemsBefore.has(event.itemId),
      );
      expect(late).toEqual([]);
      const [first] = line.turns.filter(({ speaker }) => speaker === 'agent');
      expect((first?.endMs ?? 0) - (first?.startMs ?? 0)).toBeGreaterThan(0);
      expect(first?.endMs).toBeLessThanOrEqual((cleared?.atMs ?? 0) + 500);
    });

    it('keeps a transcript of both sides with times in the order of the talk', async () => {
      await prepare();
      const [turn] = harness.linesToGoodbye;
      if (turn === undefined) throw new Error('the harness has no lines');
      harness.script?.([{ says: 'Thank you. What else?', hears: turn.hears }]);
      const line = dial();
      await greeted(line);
      const speech = await harness.speak(turn.hears);
      const beforeMs = line.now();
      line.say(speech);
      await agentSpoke(line, 1);
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

    it('ends the call after its goodbye was heard', async () => {
      await prepare();
      harness.script?.(harness.linesToGoodbye);
      const line = dial();
      await greeted(line);
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
    }, 120_000);

    it('calls a tool and goes on with its answer', async () => {
      await prepare();
      if (harness.script === undefined) return expect(harness.factory.create().capabilities.freeForm).toBe(false);
      harness.script([
        { hears: 'With which doctor is it?', calls: { name: 'look_up', arguments: { day: 'tomorrow' } } },
      ]);
      const line = dial();
      await greeted(line);
      line.say(await harness.speak('With which doctor is it?'));
      await eventually(() => line.tools.length > 0, ANSWER_MS);
      expect(line.tools).toEqual([{ name: 'look_up', arguments: { day: 'tomorrow' } }]);
      // A scripted provider repeats the answer it was given.
      await eventually(() => line.agentTurns().some((text) => text.includes('Doctor Quimby')), ANSWER_MS);
    });

    it('answers keys', async () => {
      await prepare();
      const { keys } = harness;
      if (keys === undefined) return expect(harness.factory.create().capabilities.dtmf).toBe(false);
      const engine = harness.factory.create();
      expect(engine.capabilities.dtmf).toBe(true);
      const line = dial({}, engine);
      await greeted(line);
      for (const key of keys) engine.onDtmf(key);
      await agentSpoke(line, 1);
      const pressed = line.callerTurns().join(' ').replace(/\D/g, '');
      expect(pressed).toContain(keys.replace(/\D/g, ''));
    });

    it('asks into silence, and ends the call when the silence goes on', async () => {
      await prepare({ silence: { promptAfterMs: 2_000, endAfterMs: 7_000 } });
      const line = dial();
      await greeted(line);
      await eventually(() => line.ended !== undefined, 60_000);
      expect(line.ended).toBe('silence');
      await line.hangUp();
      expect(line.agentTurns().length).toBe(3);
      expect(line.callerTurns()).toEqual([]);
    }, 90_000);

    it('does not take a caller who talks for silent', async () => {
      await prepare({ silence: { promptAfterMs: 4_000, endAfterMs: 60_000 } });
      harness.script?.([{ hears: 'A long story.', says: 'I see.' }]);
      const line = dial();
      await greeted(line);
      const speech = await harness.speak('Well, you see, it is like this.');
      const before = line.agentTurns().length;
      const talked = line.now() + 6_000;
      while (line.now() < talked) {
        if (!line.callerSpeaks()) line.say(speech);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(line.agentTurns().length).toBe(before);
    });

    it('tells the caller when the call will be ended soon', async () => {
      await prepare();
      const engine = harness.factory.create();
      const line = dial({}, engine);
      await greeted(line);
      engine.onEndingSoon?.(20);
      await agentSpoke(line, 1);
      expect(line.agentTurns()[1]).not.toMatch(harness.greeting);
    });

    it('goes on with a call that was cut off: one sentence, no greeting', async () => {
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
      await agentSpoke(line, 0);
      for (const text of line.agentTurns()) expect(text).not.toMatch(harness.greeting);
      expect(line.turns[0]?.startMs).toBeGreaterThanOrEqual(0);
    });

    it('gives back values for exactly the keys of the template, and a summary', async () => {
      await prepare();
      const line = dial();
      await greeted(line);
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

    it('stops within five seconds even when its provider answers nothing more', async () => {
      await prepare();
      const line = dial();
      await greeted(line);
      harness.hang?.();
      line.say(await harness.speak('Are you there?'));
      await new Promise((resolve) => setTimeout(resolve, 500));
      const began = performance.now();
      const result = await line.hangUp();
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(Object.keys(result.outputParameters).length).toBeGreaterThan(0);
      expect(result.summary.trim()).not.toBe('');
    });

    it('stops at once when it has hardly begun', async () => {
      await prepare();
      const line = dial();
      const result = await line.hangUp();
      expect(result.summary.trim()).not.toBe('');
      expect(line.turns).toEqual([]);
    });

    it('says sorry and fails the call when its provider is gone in the middle of it', async () => {
      await prepare();
      const line = dial();
      await greeted(line);
      if (harness.kill === undefined) return expect(harness.script === undefined).toBe(true);
      const before = line.agentTurns().length;
      harness.kill();
      line.say(await harness.speak('Are you still there?'));
      await eventually(() => line.failed !== undefined, 60_000);
      // The carrier's marks have proven that the agent was heard, so that the call counts as COMPLETED/media_failed.
      expect(line.agentTurns().length).toBeGreaterThan(before);
      expect(line.agentTurns().at(-1)).toMatch(/sorry/i);
      return undefined;
    }, 90_000);

    it('fails a call without a sound when its provider was never there: nobody pays for it', async () => {
      await prepare();
      if (harness.kill === undefined) return expect(harness.script === undefined).toBe(true);
      harness.kill();
      const line = dial();
      await eventually(() => line.failed !== undefined, 60_000);
      expect(line.heard).toEqual([]);
      return undefined;
    }, 90_000);

    it('keeps two calls apart', async () => {
      await prepare();
      harness.script?.([{ hears: 'I am the first.', says: 'Hello, first.' }]);
      const first = dial({ callId: 'call_first' });
      await greeted(first);
      harness.script?.([]);
      const second = dial({ callId: 'call_second' });
      await greeted(second);
      const heardBySecond = second.heard.length;
      first.say(await harness.speak('I am the first.'));
      await agentSpoke(first, 1);
      await eventually(() => first.callerTurns().length > 0);
      expect(second.callerTurns()).toEqual([]);
      expect(second.agentTurns().length).toBe(1);
      expect(second.heard.length).toBe(heardBySecond);
      const ids = (line: EngineLine) =>
        new Set(line.events.flatMap((event) => (event.kind === 'audio' ? [event.itemId] : [])));
      expect(ids(first).size).toBeGreaterThan(ids(second).size);
    });

    it('leaves no timer and no socket behind', async () => {
      await prepare();
      const before = await openResources();
      const line = dial();
      await greeted(line);
      line.say(await harness.speak('Hello?'));
      await eventually(() => line.callerTurns().length > 0, ANSWER_MS);
      await line.hangUp();
      await eventually(async () => {
        const after = await openResources();
        return after.timers <= before.timers && after.sockets <= before.sockets;
      }, 15_000);
    });
  });
}

/** What keeps this process alive, both ends of loopback sockets counted. */
async function openResources(): Promise<{ timers: number; sockets: number }> {
  // Without the timer of whoever waits for this.
  await new Promise((resolve) => setImmediate(resolve));
  const names = process.getActiveResourcesInfo();
  return {
    timers: names.filter((kind) => kind === 'Timeout').length,
    sockets: names.filter((kind) => kind === 'TCPSocketWrap' || kind === 'TLSWrap').length,
  };
}
