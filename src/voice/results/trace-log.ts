import type { ToolCall, ToolResult, TurnLatency } from '../engines/port.js';
import type { ConversationResultDocument, StoredLatency, StoredToolCall } from './model.js';
import type { Redactor } from './redactor.js';

/** Maximum latencies and tool calls stored per call, because the size of a document is limited. Later ones are dropped. */
const MAX_LATENCIES = 1_000;
const MAX_TOOL_CALLS = 100;
/** Maximum characters that are stored of the arguments, and of the result. */
const MAX_CHARACTERS = 1_000;
/** How much of a text is redacted before it is shortened. Redaction makes most texts shorter. */
const MAX_REDACTED_CHARACTERS = 8 * MAX_CHARACTERS;
const MAX_NAME_CHARACTERS = 64;

/** A tool call that has finished. Times are in ms from the start of the stream. */
export interface FinishedToolCall {
  call: ToolCall;
  result: ToolResult;
  atMs: number;
  durationMs: number;
}

type Trace = Pick<ConversationResultDocument, 'latencies' | 'toolCalls'>;

/**
 * Collects what the engine does in a stream: how long its replies take, and the tools that it uses.
 * @param offsetMs start of the stream, in ms from the start of the call's first stream
 * @param redactor changes the texts that are stored; by default they stay as they are
 */
export function createTraceLog(offsetMs: number, redactor?: Redactor) {
  const latencies: StoredLatency[] = [];
  const toolCalls: StoredToolCall[] = [];
  return {
    addLatency({ atMs, totalMs, parts }: TurnLatency): void {
      if (latencies.length >= MAX_LATENCIES) return;
      latencies.push({ atMs: atMs + offsetMs, totalMs, ...(parts === undefined ? {} : { parts: storable(parts) }) });
    },

    addToolCall(finished: FinishedToolCall): void {
      if (toolCalls.length < MAX_TOOL_CALLS) toolCalls.push(storedToolCall(finished, offsetMs, redactor));
    },

    /** Returns the entries of earlier streams, followed by those of this one. */
    following(earlier: Trace | null): Trace {
      const all = [...(earlier?.latencies ?? []), ...latencies].slice(0, MAX_LATENCIES);
      const used = [...(earlier?.toolCalls ?? []), ...toolCalls].slice(0, MAX_TOOL_CALLS);
      return {
        ...(all.length === 0 ? {} : { latencies: all }),
        ...(used.length === 0 ? {} : { toolCalls: used }),
      };
    },
  };
}

/** Replaces characters that MongoDB does not accept in keys. */
export function storable(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name.replace(/[.$\0]/g, '_'), count]));
}

/** Converts a tool call to its stored form. Headers that the tool's server gets are not part of it: they contain secrets. */
function storedToolCall(
  { call, result, atMs, durationMs }: FinishedToolCall,
  offsetMs: number,
  redactor: Redactor | undefined,
): StoredToolCall {
  const stored = (text: string) =>
    shortened(redactor === undefined ? text : redactor.redact(cutTo(MAX_REDACTED_CHARACTERS, text)));
  return {
    name: cutTo(MAX_NAME_CHARACTERS, call.name),
    atMs: Math.round(atMs) + offsetMs,
    durationMs: Math.round(durationMs),
    ok: result.ok,
    arguments: stored(textOf(storableArguments(call))),
    result: stored(result.ok ? textOf(result.result) : result.error),
  };
}

/** The digits that an agent enters are often PINs or card numbers, so only their number is stored. */
function storableArguments({ name, arguments: given }: ToolCall): Record<string, unknown> {
  if (name !== 'send_dtmf') return given;
  const { digits } = given;
  return typeof digits === 'string' ? { digit_count: digits.length } : {};
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    // `JSON.stringify` returns undefined for undefined.
    return (JSON.stringify(value) as string | undefined) ?? '';
  } catch {
    // Nested too deeply. The trace must not end the call.
    return '…';
  }
}

function shortened(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${cutTo(MAX_CHARACTERS, text)}…`;
}

/** The longest beginning of a text that has at most `length` UTF-16 units and ends with a whole character. */
function cutTo(length: number, text: string): string {
  const kept = text.slice(0, length);
  return (text.codePointAt(length - 1) ?? 0) > 0xff_ff ? kept.slice(0, -1) : kept;
}
