import type { ConversationProgress } from './conversation-results.js';
import type { ConversationResultDocument, StoredFailure, StoredProvider, StoredUsage } from './model.js';
import { createTraceLog, storable, type FinishedToolCall } from './trace-log.js';
import { MAX_SERVED } from '../engines/chain/served-providers.js';
import type { AnsweredBy } from '../../kernel/call-state.js';
import { valueIn } from '../session/parameter-values.js';
import type { Redactor } from './redactor.js';
import { createTurnLog } from './turn-log.js';
import type {
  EngineCall,
  EngineResult,
  EngineUsage,
  ParameterValues,
  ProviderFailure,
  TranscriptTurn,
  TurnLatency,
} from '../engines/port.js';

/** Maximum failures stored per call, because a provider may fail at each turn. Later ones are only logged. */
const MAX_FAILURES = 20;
/** Maximum size of all session logs of a call, in UTF-8 bytes. A document holds them and the longest transcript. */
const MAX_SESSION_LOG_BYTES = 6_200_000;

export type ConversationRecord = ReturnType<typeof createConversationRecord>;

/**
 * Collects the conversation of a call over all its streams: what earlier streams stored, and what this stream adds.
 * Times of this stream are converted to ms from the start of the call's first stream.
 * @param p.offsetMs start of this stream, in ms from the start of the first stream
 * @param p.redactor changes the words that are stored, but not the extracted values
 */
export function createConversationRecord(p: {
  template: ParameterValues;
  offsetMs: number;
  earlier: ConversationResultDocument | null;
  redactor?: Redactor | undefined;
}) {
  const { template, offsetMs, redactor } = p;
  let { earlier } = p;
  const turns = createTurnLog(offsetMs, earlier?.turns ?? [], redactor);
  const trace = createTraceLog(offsetMs, redactor);
  const failures: StoredFailure[] = [];
  let values: ParameterValues = {};
  let result: EngineResult | undefined;
  let agentAudioPlayed = false;
  let detected: AnsweredBy | undefined;
  let heard: AnsweredBy | undefined;
  let transferTo: string | undefined;

  const knownValues = () => ({ ...valuesIn(earlier?.values), ...values });

  /** The engine's value for each key; if missing, the value known before; else null. */
  function outputParameters(): ParameterValues {
    const known = knownValues();
    const own = result?.outputParameters ?? {};
    const keys = new Set([...Object.keys(template), ...Object.keys(own)]);
    return Object.fromEntries(Array.from(keys, (key) => [key, valueIn(own, key) ?? valueIn(known, key) ?? null]));
  }

  return {
    addTurn: (turn: TranscriptTurn): void => turns.add(turn),

    /** The start of the speaker's last turn, in ms from the start of the first stream; -1 if there is none. */
    lastTurnMs: (speaker: TranscriptTurn['speaker']): number =>
      turns.all().findLast((turn) => turn.speaker === speaker)?.startMs ?? -1,

    setValues(known: ParameterValues): void {
      values = { ...known };
    },

    addLatency: (latency: TurnLatency): void => trace.addLatency(latency),
    addToolCall: (finished: FinishedToolCall): void => trace.addToolCall(finished),

    addFailure(failure: ProviderFailure): void {
      if (failures.length < MAX_FAILURES) failures.push({ at: new Date(), ...failure });
    },

    /** @returns whether this is the first agent audio played on this stream */
    markPlayed(): boolean {
      const isNews = !agentAudioPlayed;
      agentAudioPlayed = true;
      return isNews;
    },

    /** Sets the engine's result. If this stream is lost, the result of a later stream replaces it. */
    setResult(made: EngineResult): void {
      result = redactor === undefined ? made : redactedResult(made, redactor);
    },

    /**
     * Sets the result of the carrier's answering machine detection. The engine's detection takes precedence.
     * @returns whether this is the first result on this stream
     */
    setAnsweredBy(who: AnsweredBy): boolean {
      if (detected !== undefined) return false;
      detected = who;
      return true;
    },

    /** Sets whether a person or a machine answered according to the engine, until the engine's result is available. */
    setEngineDetection(who: AnsweredBy): void {
      heard = who;
    },

    setTransfer(to: string): void {
      transferTo = to;
    },

    /** The number that the call is transferred to. */
    get transferTo(): string | undefined {
      return transferTo;
    },

    /** Replaces the data of earlier streams, because the previous stream may have written more since it was read. */
    takeOver(row: ConversationResultDocument): void {
      earlier = row;
      turns.replaceEarlier(row.turns);
    },

    get agentAudioPlayed(): boolean {
      return agentAudioPlayed || (earlier?.agentAudioPlayed ?? false);
    },

    /** All data of the conversation so far, in the form in which it is stored. */
    progress(): ConversationProgress & { outputParameters: string } {
      const known = knownValues();
      const usage = usageOfBoth(earlier?.usage, result?.usage);
      const failed = [...(earlier?.failures ?? []), ...failures].slice(0, MAX_FAILURES);
      const served = servedByBoth(earlier?.served, result?.served, offsetMs);
      const answeredBy = mostCertain([result?.answeredBy, heard, detected, earlier?.answeredBy]);
      return {
        agentAudioPlayed: this.agentAudioPlayed,
        turns: turns.all(),
        outputParameters: JSON.stringify(outputParameters()),
        ...(Object.keys(known).length === 0 ? {} : { values: JSON.stringify(known) }),
        ...trace.following(earlier),
        ...(usage === undefined ? {} : { usage }),
        ...(failed.length === 0 ? {} : { failures: failed }),
        ...(served.length === 0 ? {} : { served }),
        ...(answeredBy === undefined ? {} : { answeredBy }),
        ...ignoredByBoth(earlier?.ignoredSettings, result?.ignoredSettings),
        ...(result === undefined ? {} : { summary: result.summary }),
        ...(result?.sessionLogs === undefined
          ? {}
          : { sessionLogs: fittingLogs([...(earlier?.sessionLogs ?? []), ...result.sessionLogs]) }),
      };
    },
  };
}

/** A result without the words that must not be stored. Values stay as they are, and a session log has all words as they were said. */
function redactedResult({ sessionLogs: _logs, ...result }: EngineResult, redactor: Redactor): EngineResult {
  return { ...result, summary: redactor.redact(result.summary) };
}

/** The settings that the providers of any stream did not have. */
function ignoredByBoth(earlier: readonly string[] = [], latest: readonly string[] = []) {
  const ignoredSettings = [...new Set([...earlier, ...latest])].toSorted();
  return ignoredSettings.length === 0 ? {} : { ignoredSettings };
}

/** The logs that fit within the limit, in order. A log that does not fit is left out. */
function fittingLogs(logs: readonly string[]): string[] {
  let bytes = 0;
  return logs.filter((log) => {
    const length = Buffer.byteLength(log);
    const fits = bytes + length <= MAX_SESSION_LOG_BYTES;
    if (fits) bytes += length;
    return fits;
  });
}

/** The first value other than `unknown`; `unknown` only if there is no other value. */
function mostCertain(said: readonly (AnsweredBy | undefined)[]): AnsweredBy | undefined {
  const known = said.filter((who) => who !== undefined);
  return known.find((who) => who !== 'unknown') ?? known[0];
}

/** Builds the data about earlier streams that an engine needs to continue a call. */
export function buildResume(earlier: ConversationResultDocument): NonNullable<EngineCall['resume']> {
  return { turns: earlier.turns, values: valuesIn(earlier.values) };
}

/** The providers of earlier streams and those of this one, whose times are converted. */
function servedByBoth(
  before: readonly StoredProvider[] = [],
  own: EngineResult['served'] = [],
  offsetMs: number,
): StoredProvider[] {
  const all = [...before];
  for (const each of own) {
    const last = all.findLast(({ stage }) => stage === each.stage);
    // A later stream begins with the providers of the one before, unless another one took over.
    const isSame = last?.provider === each.provider && last.model === each.model && last.number === each.number;
    if (!isSame) all.push({ ...each, fromMs: each.fromMs + offsetMs });
  }
  return all.slice(0, MAX_SERVED);
}

function usageOfBoth(before: StoredUsage | undefined, own: EngineUsage | undefined): StoredUsage | undefined {
  if (own === undefined) return before;
  const units = storable(own.units);
  if (before === undefined) return { units, costMicros: own.costMicros };
  for (const [unit, count] of Object.entries(before.units)) units[unit] = (units[unit] ?? 0) + count;
  const { costMicros } = own;
  // If the price of one part is unknown, so is the sum.
  const sum = costMicros === null || before.costMicros === null ? null : costMicros + before.costMicros;
  return { units, costMicros: sum };
}

function valuesIn(json: string | undefined): ParameterValues {
  // The JSON needs no validation, because only `progress` writes it.
  return json === undefined ? {} : (JSON.parse(json) as ParameterValues);
}
