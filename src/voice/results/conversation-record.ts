import type { ConversationProgress } from './conversation-results.js';
import type { ConversationResultDocument, StoredLatency, StoredUsage } from './model.js';
import type { AnsweredBy } from '../../kernel/call-state.js';
import { valueIn } from '../session/parameter-values.js';
import { createTurnLog } from './turn-log.js';
import type {
  EngineCall,
  EngineResult,
  EngineUsage,
  ParameterValues,
  TranscriptTurn,
  TurnLatency,
} from '../engines/port.js';

/** Of a longer call the first ones are kept: a document has its limits. */
const MAX_LATENCIES = 1_000;
/** Of the logs of all streams, in UTF-8: beside the longest transcript a document has room for them. */
const MAX_SESSION_LOG_BYTES = 6_200_000;

export type ConversationRecord = ReturnType<typeof createConversationRecord>;

/**
 * What is known of a call's talk on all its streams: what the streams before this one left, and what this one adds. Times
 * of this stream are counted on from the call's first one.
 * @param p.offsetMs when this stream started, in ms from the start of the first
 */
export function createConversationRecord(p: {
  template: ParameterValues;
  offsetMs: number;
  earlier: ConversationResultDocument | null;
}) {
  const { template, offsetMs } = p;
  let { earlier } = p;
  const turns = createTurnLog(offsetMs, earlier?.turns ?? []);
  const latencies: StoredLatency[] = [];
  let values: ParameterValues = {};
  let result: EngineResult | undefined;
  let agentAudioPlayed = false;
  let detected: AnsweredBy | undefined;
  let heard: AnsweredBy | undefined;
  let transferTo: string | undefined;

  const knownValues = () => ({ ...valuesIn(earlier?.values), ...values });

  /** The engine's own; where that has nothing, what was said before it; null where nothing was. */
  function outputParameters(): ParameterValues {
    const known = knownValues();
    const own = result?.outputParameters ?? {};
    const keys = new Set([...Object.keys(template), ...Object.keys(own)]);
    return Object.fromEntries(Array.from(keys, (key) => [key, valueIn(own, key) ?? valueIn(known, key) ?? null]));
  }

  return {
    addTurn: (turn: TranscriptTurn): void => turns.add(turn),

    setValues(known: ParameterValues): void {
      values = { ...known };
    },

    addLatency({ atMs, totalMs, parts }: TurnLatency): void {
      if (latencies.length >= MAX_LATENCIES) return;
      latencies.push({ atMs: atMs + offsetMs, totalMs, ...(parts === undefined ? {} : { parts: storable(parts) }) });
    },

    /** @returns whether that is news */
    markPlayed(): boolean {
      const isNews = !agentAudioPlayed;
      agentAudioPlayed = true;
      return isNews;
    },

    /** What the engine made of it; on a stream that was lost the last word is another's. */
    setResult(made: EngineResult): void {
      result = made;
    },

    /**
     * The carrier's own detection; what the engine makes of it by ear beats it.
     * @returns whether that is news on this stream
     */
    setAnsweredBy(who: AnsweredBy): boolean {
      if (detected !== undefined) return false;
      detected = who;
      return true;
    },

    /** Who answered, by what the engine hears, as long as it has not made its result. */
    setHeard(who: AnsweredBy): void {
      heard = who;
    },

    setTransfer(to: string): void {
      transferTo = to;
    },

    /** The number that the call is put through to. */
    get transferTo(): string | undefined {
      return transferTo;
    },

    /** The row as it was when it became this stream's: the stream before may have written a last word since it was read. */
    takeOver(row: ConversationResultDocument): void {
      earlier = row;
      turns.replaceEarlier(row.turns);
    },

    get agentAudioPlayed(): boolean {
      return agentAudioPlayed || (earlier?.agentAudioPlayed ?? false);
    },

    /** All of it, as it is stored. */
    progress(): ConversationProgress & { outputParameters: string } {
      const known = knownValues();
      const usage = usageOfBoth(earlier?.usage, result?.usage);
      const all = [...(earlier?.latencies ?? []), ...latencies].slice(0, MAX_LATENCIES);
      const answeredBy = surest([result?.answeredBy, heard, detected, earlier?.answeredBy]);
      return {
        agentAudioPlayed: this.agentAudioPlayed,
        turns: turns.all(),
        outputParameters: JSON.stringify(outputParameters()),
        ...(Object.keys(known).length === 0 ? {} : { values: JSON.stringify(known) }),
        ...(all.length === 0 ? {} : { latencies: all }),
        ...(usage === undefined ? {} : { usage }),
        ...(answeredBy === undefined ? {} : { answeredBy }),
        ...(result === undefined ? {} : { summary: result.summary }),
        ...(result?.sessionLog === undefined
          ? {}
          : { sessionLogs: fittingLogs([...(earlier?.sessionLogs ?? []), result.sessionLog]) }),
      };
    },
  };
}

/** The first logs that fit together; each is of use by itself. */
function fittingLogs(logs: readonly string[]): string[] {
  let bytes = 0;
  return logs.filter((log) => {
    const length = Buffer.byteLength(log);
    const fits = bytes + length <= MAX_SESSION_LOG_BYTES;
    if (fits) bytes += length;
    return fits;
  });
}

/** The first that says something; that one could not tell is worth less than any other word. */
function surest(said: readonly (AnsweredBy | undefined)[]): AnsweredBy | undefined {
  const known = said.filter((who) => who !== undefined);
  return known.find((who) => who !== 'unknown') ?? known[0];
}

/** What an engine is told of the streams before its own. */
export function resumeOf(earlier: ConversationResultDocument): NonNullable<EngineCall['resume']> {
  return { turns: earlier.turns, values: valuesIn(earlier.values) };
}

function usageOfBoth(before: StoredUsage | undefined, own: EngineUsage | undefined): StoredUsage | undefined {
  if (own === undefined) return before;
  const units = storable(own.units);
  if (before === undefined) return { units, costMicros: own.costMicros };
  for (const [unit, count] of Object.entries(before.units)) units[unit] = (units[unit] ?? 0) + count;
  const { costMicros } = own;
  // A part whose price is not known makes the sum unknown.
  const sum = costMicros === null || before.costMicros === null ? null : costMicros + before.costMicros;
  return { units, costMicros: sum };
}

/** Names that the database takes as keys. */
function storable(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name.replace(/[.$\0]/g, '_'), count]));
}

function valuesIn(json: string | undefined): ParameterValues {
  // Only this class of record writes them.
  return json === undefined ? {} : (JSON.parse(json) as ParameterValues);
}
