import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolRounds } from '../../session/tool-rounds.js';
import type { ToolAnswer } from '../port.js';
import { ProviderError } from './ports.js';
import type { ChatMessage, ChatModel, ChatTool, ModelUsage, ToolRequest } from './ports.js';
import { createSentenceCutter } from './sentences.js';
import type { Utterance } from './utterance.js';

/** A model that calls tools again and again has to answer without any at last. */
const MAX_ROUNDS = 6;
const RETRY_AFTER_MS = 300;
const GO_ON = '[A technical fault cut your answer off. Go on with exactly the words that follow.]';

/** Where the caller's waiting went; ms from the start of the stream. */
export interface ReplyTimes {
  startedMs: number;
  firstSentenceMs?: number;
  firstAudioMs?: number;
}

export interface ReplyDeps {
  model: ChatModel;
  tools: readonly ChatTool[];
  /** Of the whole call: without room the model is asked to answer without tools. */
  toolRounds: ToolRounds;
  /** The talk before this reply, read when it begins. */
  messages(): readonly ChatMessage[];
  /** What it waits for: a tool that an earlier reply called. */
  after: Promise<unknown>;
  /** What the model is told is only held back while the caller may still be speaking. */
  confirmed: boolean;
  now: () => number;
  openUtterance(p: { held: boolean; onAudio(): void; onFailed(error: ProviderError): void }): Utterance;
  callTool(request: ToolRequest): Promise<ToolAnswer>;
  /** Tools that end the talk are called when all was handed to the line before them. */
  isLast(tool: string): boolean;
  onUsage(usage: ModelUsage): void;
  /** First audio, and the reply is confirmed: the caller's waiting is over. */
  onHeardFirst(times: ReplyTimes): void;
  /** Both attempts came to nothing. */
  onFailed(error: ProviderError): void;
  /** All is said and handed to the line. */
  onDone(): void;
}

/** One message of the model's: its words, and the tools it called with them. */
interface Round {
  text: string;
  utterance: Utterance;
  /** What was heard of it, once that is known. */
  heard?: string;
  answered: { request: ToolRequest; answer: string }[];
}

export type Reply = ReturnType<typeof startReply>;

/**
 * One answer of the agent's: streamed from the model, spoken sentence by sentence, with the tools it calls between. Begun
 * while the caller may not have finished, it keeps its audio and its tools back until it is confirmed.
 */
export function startReply(deps: ReplyDeps) {
  const { now } = deps;
  const rounds: Round[] = [];
  const controller = new AbortController();
  const times: ReplyTimes = { startedMs: now() };
  let confirmed = deps.confirmed;
  let state: 'running' | 'done' | 'failed' | 'cancelled' = 'running';
  let announced = false;
  let before: readonly ChatMessage[] = [];
  /** A reply that is taken back while it waits hands on what it waited for. */
  let toolsCalled = deps.after;
  let confirmNow: () => void = () => undefined;
  const confirmation = new Promise<void>((resolve) => (confirmNow = resolve));
  if (confirmed) confirmNow();

  async function run(): Promise<void> {
    await deps.after;
    if (state !== 'running') return;
    before = deps.messages();
    for (let count = 0; count < MAX_ROUNDS; count += 1) {
      // Opened before there is a word to say: the voice connects while the model thinks.
      const utterance = deps.openUtterance({ held: !confirmed, onAudio, onFailed: fail });
      const round: Round = { text: '', utterance, answered: [] };
      rounds.push(round);
      const requests = await speakRound(round, count < MAX_ROUNDS - 1 && deps.toolRounds.hasRoom());
      if (round.text === '') utterance.cut();
      else utterance.finish();
      if (requests.length === 0) break;
      deps.toolRounds.count();
      await confirmation;
      if (state !== 'running') return;
      if (await callTools(round, requests)) break;
    }
    await allQueued();
    if (state !== 'running') return;
    state = 'done';
    deps.onDone();
  }

  async function allQueued(): Promise<void> {
    for (const { utterance } of rounds) await utterance.queued;
  }

  /** @returns the tools that the model wants called */
  async function speakRound(round: Round, mayCallTools: boolean): Promise<ToolRequest[]> {
    try {
      return await streamRound(round, { mayCallTools, mayBeEmpty: false });
    } catch (error) {
      if (state !== 'running' || !(error instanceof ProviderError)) throw error;
      await sleep(error.retryAfterMs ?? RETRY_AFTER_MS, undefined, { signal: controller.signal });
      // After a tool there may be nothing to say: keys sent to a menu want none.
      return await streamRound(round, { mayCallTools, mayBeEmpty: rounds.length > 1 });
    }
  }

  async function streamRound(
    round: Round,
    { mayCallTools, mayBeEmpty }: { mayCallTools: boolean; mayBeEmpty: boolean },
  ): Promise<ToolRequest[]> {
    const requests: ToolRequest[] = [];
    const sentences = createSentenceCutter();
    const messages = [...before, ...spokenMessages()];
    if (round.text !== '') messages.push({ role: 'user', content: GO_ON });
    const { tools } = deps;
    for await (const delta of deps.model.stream({ messages, tools, mayCallTools, signal: controller.signal })) {
      if (delta.kind === 'text') say(round, sentences.push(delta.text));
      else if (delta.kind === 'tool' && mayCallTools) requests.push(delta.request);
      else if (delta.kind === 'usage') deps.onUsage(delta.usage);
    }
    say(round, sentences.flush());
    const isEmpty = requests.length === 0 && round.text === '';
    if (isEmpty && !mayBeEmpty) throw new ProviderError('model', 'answered nothing');
    return requests;
  }

  function say(round: Round, sentences: readonly string[]): void {
    for (const sentence of sentences) {
      if (state !== 'running') return;
      times.firstSentenceMs ??= now();
      round.text += round.text === '' ? sentence : ` ${sentence}`;
      round.utterance.say(sentence);
    }
  }

  /** @returns whether the talk ends with one of them */
  async function callTools(round: Round, requests: readonly ToolRequest[]): Promise<boolean> {
    let isEnd = false;
    for (const request of requests) {
      const isLast = deps.isLast(request.name);
      if (isLast) await allQueued();
      if (state !== 'running') return true;
      const calling = deps.callTool(request);
      toolsCalled = calling;
      const answer = await calling;
      round.answered.push({ request, answer: JSON.stringify(answer.ok ? answer.result : { error: answer.error }) });
      if (isLast && answer.ok) isEnd = true;
    }
    return isEnd || state !== 'running';
  }

  function onAudio(): void {
    times.firstAudioMs ??= now();
    announce();
  }

  function announce(): void {
    if (announced || !confirmed || times.firstAudioMs === undefined) return;
    announced = true;
    deps.onHeardFirst(times);
  }

  function fail(error: ProviderError): void {
    if (state !== 'running') return;
    state = 'failed';
    stopWork();
    deps.onFailed(error);
  }

  function stopWork(): void {
    controller.abort();
    confirmNow();
  }

  /** The messages this reply adds to the talk: the words heard, or on their way to be. */
  function spokenMessages(): ChatMessage[] {
    return rounds.flatMap(({ text, heard, answered }): ChatMessage[] => {
      const content = heard ?? text;
      if (content === '' && answered.length === 0) return [];
      const requests = answered.map(({ request }) => request);
      return [
        { role: 'assistant', content, ...(requests.length === 0 ? {} : { toolRequests: requests }) },
        ...answered.map(({ request, answer }): ChatMessage => {
          return { role: 'tool', toolRequestId: request.id, content: answer };
        }),
      ];
    });
  }

  run().catch((error: unknown) => {
    if (state !== 'running') return;
    fail(error instanceof ProviderError ? error : new ProviderError('model', 'failed'));
  });

  return {
    messages: spokenMessages,
    /** The caller has finished: what was kept back may be heard. */
    confirm(): void {
      if (confirmed) return;
      confirmed = true;
      for (const { utterance } of rounds) utterance.release();
      confirmNow();
      announce();
    },
    /** No tool is being called any more. */
    toolsCalled: () => toolsCalled,
    isConfirmed: () => confirmed,
    isRunning: () => state === 'running',
    hasAudio: () => times.firstAudioMs !== undefined,
    /** Takes it back, as far as it was not heard; the caller of this has cleared the line. */
    cancel(): void {
      if (state === 'cancelled') return;
      state = 'cancelled';
      stopWork();
      for (const { utterance } of rounds) utterance.cut();
    },
    /** An utterance of this reply was cut off after these words. */
    cutAt(itemId: string, heard: string): void {
      const round = rounds.find(({ utterance }) => utterance.itemId === itemId);
      if (round !== undefined) round.heard = heard;
    },
  };
}
