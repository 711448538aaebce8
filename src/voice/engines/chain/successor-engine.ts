import { report } from '../../../platform/telemetry/measurements.js';
import type { SettingName } from '../../../kernel/conversation/settings-support.js';
import { createIgnoredSettings } from '../ignored-settings.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import { sumUsage } from '../engine-usage.js';
import { REPLACED } from '../port.js';
import type {
  AnsweredBy,
  Engine,
  EngineCall,
  EngineFactory,
  EngineResult,
  EngineSink,
  EngineUsage,
  FailureCause,
  ParameterValues,
  TranscriptTurn,
} from '../port.js';
import { blameOf } from './blame.js';
import { healthOfCall, ignoredByAlternative, settingsFor } from './pipeline-chains.js';
import { recordFault } from './provider-chain.js';
import type { ProviderHealth } from './provider-health.js';
import { createUnansweredAudio } from './unanswered-audio.js';

interface SuccessorDeps {
  first: EngineFactory;
  /** Takes over if the first engine fails. Warmed and closed by its owner. */
  second: EngineFactory;
  /** Whether the second engine can conduct a call. */
  fits(call: EngineCall): boolean;
  health: ProviderHealth;
  logger: Logger;
}

const FIRST = { stage: 'realtime', number: 1 } as const;
/** Distinguishes the items of the second engine, because both engines number theirs from 1. */
const PREFIX = 'successor-';

/**
 * An engine whose calls are continued by another engine if it fails, at their beginning or in the middle. The second
 * engine knows what was said, and hears the caller's words that have no transcript yet.
 */
export function createEngineWithSuccessor(deps: SuccessorDeps): EngineFactory {
  return {
    name: deps.first.name,
    warm: () => deps.first.warm(),
    create: () => createEngine(deps),
    close: () => deps.first.close(),
  };
}

function createEngine(deps: SuccessorDeps): Engine {
  const first = deps.first.create();
  const call = createSharedCall();
  let second: Engine | undefined;
  /** The result of the first engine, once the second one has replaced it. */
  let replaced: Promise<EngineResult | undefined> = Promise.resolve(undefined);
  let usageOfFirst: EngineUsage | undefined;
  let hasFailed = false;
  /** The cause of the first engine's last failure. */
  let cause: FailureCause = { blame: 'provider' };
  let isStopped = false;

  const current = () => second ?? first;

  function onFailed(error: Error, given: EngineCall, sink: EngineSink): void {
    if (hasFailed || isStopped) return;
    if (call.isEnding()) return sink.fail(error);
    hasFailed = true;
    recordFault(healthOfCall(deps.health, given), FIRST, cause);
    const { callId } = given;
    report('providerSwitch', { stage: 'realtime', cause: 'failed' });
    deps.logger.warn(
      { callId, stage: 'realtime', from: 1, to: deps.second.name, fault: error.message },
      'provider failed; the next one takes over',
    );
    // The first engine stores the words of its last items right after this call.
    setImmediate(() => {
      try {
        replace(given, sink);
      } catch (fault) {
        sink.fail(fault instanceof Error ? fault : new Error('the second engine failed'));
      }
    });
  }

  function replace(given: EngineCall, sink: EngineSink): void {
    if (isStopped) return;
    usageOfFirst = first.usage?.();
    replaced = first.stop(REPLACED).catch(() => undefined);
    void replaced.then((result) => (usageOfFirst = result?.usage ?? usageOfFirst));
    startSecond(given, sink);
  }

  function startSecond(given: EngineCall, sink: EngineSink): void {
    const engine = deps.second.create();
    second = engine;
    engine
      .start(call.continued(given), prefixed(sink))
      .catch((error: unknown) => sink.fail(error instanceof Error ? error : new Error('the second engine failed')));
    call.tellAgain(engine);
  }

  function start(given: EngineCall, sink: EngineSink): Promise<void> {
    if (!deps.fits(given)) return first.start(given, sink);
    call.begin();
    const health = healthOfCall(deps.health, given);
    if (health.isOpen(FIRST)) {
      const { callId } = given;
      report('providerSwitch', { stage: 'realtime', cause: 'skipped' });
      deps.logger.warn(
        { callId, stage: 'realtime', from: 1, to: deps.second.name },
        'provider skipped, because it failed in earlier calls',
      );
      startSecond(given, sink);
      return Promise.resolve();
    }
    health.record(FIRST, 'tried');
    const own = call.watched(sink, {
      isHeard: () => !hasFailed,
      onHeard: () => health.record(FIRST, 'succeeded'),
      onCause: (found) => void (cause = found),
      onFailed: (error) => onFailed(error, given, sink),
    });
    return first.start({ ...given, hasSuccessor: true }, own);
  }

  return {
    name: first.name,
    capabilities: first.capabilities,
    start,
    onCallerAudio(frame, timestampMs) {
      if (second === undefined) call.heard(frame, timestampMs);
      current().onCallerAudio(frame, timestampMs);
    },
    onDtmf: (digit) => current().onDtmf(digit),
    onText: (text) => current().onText?.(text),
    onPlayed(itemId, playedMs, complete) {
      if (itemId.startsWith(PREFIX)) second?.onPlayed(itemId.slice(PREFIX.length), playedMs, complete);
      else first.onPlayed(itemId, playedMs, complete);
    },
    onEndingSoon(secondsLeft) {
      call.endingSoon(secondsLeft);
      current().onEndingSoon?.(secondsLeft);
    },
    onAnsweredBy(who) {
      const isAccepted = current().onAnsweredBy?.(who) ?? true;
      if (isAccepted) call.answeredBy(who);
      return isAccepted;
    },
    usage: () => (second === undefined ? first.usage?.() : sumUsage(usageOfFirst, second.usage?.())),
    async stop(reason) {
      isStopped = true;
      if (second === undefined) return first.stop(reason);
      const [before, result] = await Promise.all([replaced, second.stop(reason)]);
      return joined(before, result, call.ignored(), before?.usage ?? usageOfFirst);
    },
  };
}

/** Collects the facts that both engines of a call must know. */
function createSharedCall() {
  const unanswered = createUnansweredAudio();
  const turns: TranscriptTurn[] = [];
  let values: ParameterValues = {};
  let startedAt = 0;
  let isEnding = false;
  /** The result of the carrier's detection, and what the first engine knows. */
  let who: AnsweredBy | undefined;
  let known: AnsweredBy | undefined;
  let endsAt: number | undefined;
  let ignored: readonly SettingName[] = [];

  return {
    begin: () => void (startedAt = performance.now()),
    heard: (frame: Uint8Array, timestampMs: number) => unanswered.push(frame, timestampMs),
    answeredBy: (answered: AnsweredBy) => void (who = answered),
    endingSoon: (secondsLeft: number) => void (endsAt = performance.now() + secondsLeft * 1_000),
    isEnding: () => isEnding,

    /** The sink of the first engine, from which the second one learns what was said. */
    watched(
      sink: EngineSink,
      on: { isHeard(): boolean; onHeard(): void; onCause(cause: FailureCause): void; onFailed(error: Error): void },
    ): EngineSink {
      let hasBeenHeard = false;
      return {
        ...sink,
        sendAudio(itemId, mulaw) {
          if (!on.isHeard()) return;
          if (!hasBeenHeard) on.onHeard();
          hasBeenHeard = true;
          sink.sendAudio(itemId, mulaw);
        },
        storeTurn(turn) {
          turns.push(turn);
          if (turn.speaker === 'caller') unanswered.dropUntil(turn.endMs);
          sink.storeTurn(turn);
        },
        storeValues(found) {
          values = found;
          sink.storeValues(found);
        },
        storeAnsweredBy(answered) {
          known = answered;
          sink.storeAnsweredBy(answered);
        },
        storeFailure(failure, cause = { blame: blameOf(failure) }) {
          on.onCause(cause);
          sink.storeFailure(failure, cause);
        },
        end(reason) {
          isEnding = true;
          sink.end(reason);
        },
        fail: (error) => on.onFailed(error),
      };
    },

    /** The call as the second engine gets it. */
    continued(given: EngineCall): EngineCall {
      const { resume } = given;
      ignored = ignoredByAlternative({ number: 2, stage: 'realtime' }, given.settings);
      const said = [...(resume?.turns ?? []), ...turns.toSorted((a, b) => a.startMs - b.startMs)];
      // On a stream that replaced a lost one, the agent's first words say that the line broke.
      const unnoticed = resume === undefined || turns.some(({ speaker }) => speaker === 'agent');
      const answeredBy = known ?? who;
      return {
        ...given,
        ...(given.settings === undefined ? {} : { settings: settingsFor({ number: 2 }, given.settings) }),
        ...(said.length === 0
          ? {}
          : { resume: { turns: said, values: { ...resume?.values, ...values }, ...(unnoticed ? { unnoticed } : {}) } }),
        takesOver: {
          atMs: performance.now() - startedAt,
          unanswered: unanswered.frames(),
          ...(answeredBy === undefined ? {} : { answeredBy }),
        },
      };
    },

    /** Settings of the agent that the second engine ignores. */
    ignored: () => ignored,

    /** Repeats the reports that only the first engine got. */
    tellAgain(engine: Engine): void {
      const told = known === 'voicemail' ? known : who;
      if (told !== undefined) engine.onAnsweredBy?.(told);
      const leftMs = endsAt === undefined ? 0 : endsAt - performance.now();
      if (leftMs > 0) engine.onEndingSoon?.(Math.ceil(leftMs / 1_000));
    },
  };
}

function prefixed(sink: EngineSink): EngineSink {
  return {
    ...sink,
    sendAudio: (itemId, mulaw) => sink.sendAudio(`${PREFIX}${itemId}`, mulaw),
    endItem: (itemId) => sink.endItem(`${PREFIX}${itemId}`),
  };
}

/** The result of a call that two engines conducted. */
function joined(
  before: EngineResult | undefined,
  result: EngineResult,
  dropped: readonly SettingName[],
  usageBefore: EngineUsage | undefined,
): EngineResult {
  const ignored = createIgnoredSettings();
  for (const names of [before?.ignoredSettings ?? [], result.ignoredSettings ?? [], dropped]) ignored.add(names);
  const usage = sumUsage(usageBefore, result.usage);
  const sessionLogs = [...(before?.sessionLogs ?? []), ...(result.sessionLogs ?? [])];
  const answeredBy = result.answeredBy ?? before?.answeredBy;
  return {
    ...result,
    ...ignored.inResult(),
    served: [...(before?.served ?? []), ...(result.served ?? [])],
    ...(usage === undefined ? {} : { usage }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    ...(sessionLogs.length === 0 ? {} : { sessionLogs }),
  };
}
