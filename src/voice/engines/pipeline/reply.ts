import type { ReplyTimes } from '../../session/reducer/events.js';
import { fitsReply } from '../../session/speech-limits.js';
import { MAX_CALLS_PER_ROUND, type ToolRounds } from '../../session/tool-rounds.js';
import type { ToolResult } from '../port.js';
import { ProviderError } from './ports.js';
import type { ChatMessage, ChatTool, ToolRequest } from './ports.js';
import { speakRound, type RoundDeps } from './reply-round.js';
import { parseToolArguments } from '../../tools/shallow-json.js';
import type { Utterance } from './utterance.js';

/** Maximum messages of the model in one reply. The last one cannot call tools, so that a loop of tool calls ends. */
const MAX_ROUNDS = 6;
/**
 * Limit of tool arguments and results in one reply, because each further request to the model contains them again. The
 * last tool call may exceed the limit.
 */
const MAX_TOOL_BYTES = 40_000;
const TOO_MANY_TOOLS: ToolResult = {
  ok: false,
  error: 'too many tool results in one reply; continue without this one',
};

export interface ReplyDeps {
  replyId: string;
  models: RoundDeps['models'];
  tokens: RoundDeps['tokens'];
  tools: readonly ChatTool[];
  /**
   * Limit of rounds of tool calls, shared by all replies of the phone call. It grows during the call. While it is
   * reached, the model must answer without tools.
   */
  toolRounds: ToolRounds;
  /** The chat history before this reply, read when it begins. */
  messages(): readonly ChatMessage[];
  /** Resolves when the tool calls of earlier replies have finished; the reply waits for that. */
  after: Promise<unknown>;
  /** If false, audio and tool calls are held back until `confirm`. */
  confirmed: boolean;
  now: () => number;
  openUtterance(p: {
    itemId: string;
    held: boolean;
    onSynthesized(): void;
    onFailed(error: ProviderError): void;
    onClosed(heard: string, complete: boolean): void;
  }): Utterance;
  /** Drops an item whose audio was never sent to the caller. */
  forgetUtterance(itemId: string): void;
  callTool(request: ToolRequest): Promise<ToolResult>;
  /** Returns an id of a tool call that is new in this phone call, and that every provider accepts. */
  newToolRequestId(): string;
  /** Whether the tool ends the call. Such a tool runs after all earlier audio was queued. */
  isLast(tool: string): boolean;
  /** Called when the first audio of a confirmed reply is ready, which ends the caller's wait. */
  onFirstAudio(times: ReplyTimes): void;
  /** Called when a model has failed, and it or another one is asked again. */
  onRetry(error: ProviderError): void;
  /** Called when all attempts to get the reply from a model have failed. */
  onFailed(error: ProviderError): void;
  /** Called when the reply is complete and all its audio is queued. */
  onDone(): void;
}

/** One message of the model: its text and its tool calls. */
interface Round {
  text: string;
  utterance: Utterance;
  /** The words that the caller heard, once known. */
  heard?: string;
  answered: { request: ToolRequest; answer: string }[];
}

export type Reply = ReturnType<typeof startReply>;

/**
 * Produces one reply of the agent: streams it from the LLM, speaks it sentence by sentence, and runs its tool calls in
 * between. If it is not certain yet that the caller has finished, audio and tool calls are held back until `confirm`.
 */
export function startReply(deps: ReplyDeps) {
  const rounds: Round[] = [];
  const controller = new AbortController();
  const moments = createReplyTimer(deps);
  let confirmed = deps.confirmed;
  let isRunning = true;
  const toolBudget = createToolBudget();
  /** A reply that is canceled while it waits for earlier tool calls makes the next reply wait for them. */
  let pendingTools = deps.after;
  let confirmNow: () => void = () => undefined;
  const confirmation = new Promise<void>((resolve) => (confirmNow = resolve));
  if (confirmed) markConfirmed();

  async function run(): Promise<void> {
    await deps.after;
    if (!isRunning) return;
    const before = deps.messages();
    for (let count = 0; count < MAX_ROUNDS; count += 1) {
      const round = openRound(`${deps.replyId}.${count}`);
      const mayCallTools = count < MAX_ROUNDS - 1 && deps.toolRounds.hasRoom() && toolBudget.hasRoom();
      const requests = await speak(round, before, mayCallTools);
      if (round.text === '') deps.forgetUtterance(round.utterance.itemId);
      else round.utterance.finish();
      if (requests.length === 0) break;
      deps.toolRounds.count();
      await confirmation;
      if (!isRunning || (await callTools(round, requests))) break;
    }
    await waitUntilQueued(rounds);
    if (!isRunning) return;
    isRunning = false;
    deps.onDone();
  }

  /** Opens TTS at once, so that it connects while the LLM works. */
  function openRound(itemId: string): Round {
    const utterance = deps.openUtterance({
      itemId,
      held: !confirmed,
      onSynthesized: () => moments.audio(),
      onFailed: fail,
      onClosed: (heard, complete) => void (round.heard = complete || heard === '' ? heard : `${heard} [interrupted]`),
    });
    const round: Round = { text: '', utterance, answered: [] };
    rounds.push(round);
    return round;
  }

  function speak(round: Round, before: readonly ChatMessage[], mayCallTools: boolean): Promise<ToolRequest[]> {
    const say = (sentences: readonly string[]) => sayIn(round, sentences);
    return speakIn(round, rounds, before, { ...deps, mayCallTools, say, signal: controller.signal });
  }

  function sayIn(round: Round, sentences: readonly string[]): boolean {
    for (const sentence of sentences) {
      if (!isRunning || !fitsReply(charactersOf(rounds), sentence)) return false;
      moments.sentence();
      round.text += round.text === '' ? sentence : ` ${sentence}`;
      round.utterance.say(sentence);
    }
    return true;
  }

  /** @returns whether one of the tools ends the phone call */
  async function callTools(round: Round, requests: readonly ToolRequest[]): Promise<boolean> {
    let isEnd = false;
    for (const [at, request] of requests.entries()) {
      const isLast = deps.isLast(request.name);
      if (isLast) await waitUntilQueued(rounds);
      if (!isRunning) return true;
      const hasRoom = at < MAX_CALLS_PER_ROUND ? isLast || toolBudget.hasRoom() : isLast && !isEnd;
      const calling = hasRoom ? deps.callTool(request) : Promise.resolve(TOO_MANY_TOOLS);
      pendingTools = calling;
      const answer = await calling;
      round.answered.push(toolBudget.charge(request, answer));
      if (isLast && answer.ok) isEnd = true;
    }
    return isEnd || !isRunning;
  }

  function markConfirmed(): void {
    confirmNow();
    moments.confirm();
  }

  function fail(error: ProviderError): void {
    if (!isRunning) return;
    stopWork();
    deps.onFailed(error);
  }

  function stopWork(): void {
    isRunning = false;
    controller.abort();
    confirmNow();
  }

  run().catch((error: unknown) =>
    fail(error instanceof ProviderError ? error : new ProviderError('model', 'failed for an unknown reason')),
  );

  return {
    messages: () => messagesOf(rounds),
    isConfirmed: () => confirmed,
    /** Releases the audio and tool calls that were held back, because the caller has finished. */
    confirm(): void {
      if (confirmed) return;
      confirmed = true;
      for (const { utterance } of rounds) utterance.release();
      markConfirmed();
    },
    /** Resolves when no tool call is running. */
    pendingTools: () => pendingTools,
    /** Cancels the reply, except for audio that was already sent to the caller. */
    cancel(): void {
      stopWork();
      for (const { utterance } of rounds) deps.forgetUtterance(utterance.itemId);
    },
  };
}

/** Records when a reply had its first sentence and its first audio. Reports both once the reply is confirmed. */
function createReplyTimer({ now, onFirstAudio }: Pick<ReplyDeps, 'now' | 'onFirstAudio'>) {
  const times: ReplyTimes = { startedMs: now() };
  let isConfirmed = false;
  let isReported = false;

  function tell(): void {
    if (isReported || !isConfirmed || times.firstAudioMs === undefined) return;
    isReported = true;
    onFirstAudio(times);
  }

  return {
    sentence(): void {
      times.firstSentenceMs ??= now();
    },
    audio(): void {
      times.firstAudioMs ??= now();
      tell();
    },
    confirm(): void {
      isConfirmed = true;
      tell();
    },
  };
}

/** @returns the tool calls that the model requests, with ids of this phone call */
async function speakIn(
  round: Round,
  rounds: readonly Round[],
  before: readonly ChatMessage[],
  { newToolRequestId, ...deps }: Omit<RoundDeps, 'messages' | 'text'> & Pick<ReplyDeps, 'newToolRequestId'>,
): Promise<ToolRequest[]> {
  const { models, tokens, tools, mayCallTools, signal, say, onRetry } = deps;
  const messages = () => [...before, ...messagesOf(rounds)];
  const text = () => round.text;
  const requests = await speakRound(
    { models, tokens, tools, mayCallTools, messages, text, signal, say, onRetry },
    rounds.length > 1,
  );
  return requests.map((request) => ({ ...request, id: newToolRequestId() }));
}

/** Tracks the budget for tool arguments and results in one reply. */
function createToolBudget() {
  let bytes = 0;
  return {
    hasRoom: () => bytes < MAX_TOOL_BYTES,
    charge(request: ToolRequest, given: ToolResult): Round['answered'][number] {
      const answer = JSON.stringify(given.ok ? given.result : { error: given.error });
      bytes += Buffer.byteLength(request.arguments) + Buffer.byteLength(answer);
      // Some servers parse the arguments in the history, and reject those that were cut off.
      const sound =
        parseToolArguments(request.arguments) === null || request.arguments.trim() === '' ? '{}' : request.arguments;
      return { request: { ...request, arguments: sound }, answer };
    },
  };
}

function charactersOf(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { text }) => sum + text.length, 0);
}

async function waitUntilQueued(rounds: readonly Round[]): Promise<void> {
  for (const { utterance } of rounds) await utterance.queued;
}

/** The messages that a reply adds to the chat history: the words heard, or all words while the reply still plays. */
function messagesOf(rounds: readonly Round[]): ChatMessage[] {
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
