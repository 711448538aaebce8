import { setTimeout as sleep } from 'node:timers/promises';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import { createDependencyChecks } from '../../platform/telemetry/readiness.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { waitAtMost } from '../session/wait-at-most.js';
import type { createLiveStreams } from './live-streams.js';
import type { MediaReadiness } from './media-http-server.js';

/** Timeout on shutdown for storing the progress of suspended calls. */
export const SHUTDOWN_MS = 3_000;
/** Timeout on shutdown for recording which streams will be closed. A stream without a record counts as lost. */
const RECORD_CLOSES_MS = 1_000;

/** Returns how long calls may continue when a media server stops, so that it has ended after `drainMs`. */
export function graceOf(drainMs: number): number {
  return drainMs - SHUTDOWN_MS - RECORD_CLOSES_MS;
}

/** Stops the streams of a media server so that each call ends by itself or continues in another process. */
export function createDrain(p: {
  bindings: CarrierBindings;
  isFull: () => boolean;
  pingMongodb: () => Promise<void>;
  /** How long streams are still accepted, until load balancers have noticed that the server is not ready. */
  delayMs: number;
  timings: { shutdownGraceMs: number; shutdownMs: number };
  logger: Logger;
}) {
  const { shutdownGraceMs: graceMs, shutdownMs } = p.timings;
  let isDraining = false;
  let isClosing = false;
  const moving = new AbortController();
  const checkDependencies = createDependencyChecks({ mongodb: p.pingMongodb });

  const logUnrecorded = (error: unknown) =>
    p.logger.warn({ err: error }, 'streams that will be closed not recorded; they count as lost');

  async function recordCloses(streams: ReturnType<typeof createLiveStreams>): Promise<void> {
    const recorded = p.bindings.recordPlannedCloses(streams.live()).then(
      () => 'done' as const,
      (error: unknown) => {
        logUnrecorded(error);
        return 'done' as const;
      },
    );
    const inTime = await waitAtMost(RECORD_CLOSES_MS, recorded);
    if (inTime === undefined) logUnrecorded(new Error(`MongoDB did not respond within ${RECORD_CLOSES_MS} ms.`));
  }

  return {
    /** Aborted when calls that have not ended are moved to other processes. */
    moving: moving.signal,

    isDraining: () => isDraining,

    /** Whether new streams are rejected. */
    isClosing: () => isClosing,

    async checkReadiness(): Promise<MediaReadiness> {
      const { mongodb } = await checkDependencies();
      if (isDraining) return { status: 'stopping', mongodb };
      if (p.isFull()) return { status: 'full', mongodb };
      return { status: mongodb === 'ok' ? 'ready' : 'unavailable', mongodb };
    },

    async run(streams: ReturnType<typeof createLiveStreams>): Promise<void> {
      isDraining = true;
      const until = performance.now() + graceMs;
      await sleep(Math.min(p.delayMs, graceMs));
      isClosing = true;
      await waitAtMost(Math.max(0, until - performance.now()), streams.allOver());
      moving.abort();
      await recordCloses(streams);
      streams.suspendAll('shutting down');
      await waitAtMost(shutdownMs, streams.allOver());
    },
  };
}
