import { beginSpan, inSpan } from '../../platform/telemetry/spans.js';
import type { StreamedCall } from '../call-reader.js';
import type { TurnLatency } from '../engines/port.js';

/** Tools that each agent may have. The names of others are texts of customers. */
const BUILT_IN: ReadonlySet<string> = new Set(['end_call', 'send_dtmf', 'transfer_call']);

export interface ConversationTrace {
  /** Adds a turn of the conversation: the wait for a reply, with its stages. */
  reply(latency: TurnLatency): void;
  /** Runs a tool in a span. */
  tool<T>(name: string, run: () => Promise<T>): Promise<T>;
  end(reason: string): void;
}

/**
 * Traces one stream of a call. The span `media stream` ends at once, so that it is sent even if this process dies. It is
 * the parent of the others, so those that were sent before stay connected.
 */
export function traceConversation(p: {
  request: Pick<StreamedCall, '_id' | 'mode' | 'direction'>;
  /** The stream number: 0 for the call's first stream. */
  stream: number;
  engine: string;
  /** When the stream started, ms since the epoch. */
  startedAt: number;
}): ConversationTrace {
  const { startedAt, engine, stream } = p;
  const { _id: callId, mode, direction } = p.request;
  const parent = beginSpan('media stream', {
    callId,
    kind: 'server',
    facts: { stream, engine, mode, direction },
    startedAt,
  });
  if (parent === undefined) return { reply: () => undefined, tool: (_, run) => run(), end: () => undefined };
  parent.end();
  const within = { callId, parent };
  const conversation = beginSpan('conversation', { ...within, facts: { stream, engine }, startedAt });
  return {
    reply({ atMs, totalMs, parts = {}, begunMs = {} }) {
      const endedAt = startedAt + atMs;
      const turn = beginSpan('turn', { ...within, facts: { engine }, startedAt: endedAt - totalMs });
      for (const [part, ms] of Object.entries(parts)) {
        const begun = begunMs[part];
        if (begun === undefined || turn === undefined) continue;
        const stage = beginSpan(`stage ${part}`, { callId, parent: turn, startedAt: startedAt + begun });
        stage?.end({ at: startedAt + begun + ms });
      }
      turn?.end({ at: endedAt });
    },
    tool: (name, run) =>
      inSpan('tool', { ...within, facts: { tool: BUILT_IN.has(name) ? name : 'custom' } }, () => run()),
    end: (endReason) => {
      conversation?.add({ endReason });
      conversation?.end();
    },
  };
}
