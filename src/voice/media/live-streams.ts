import type { WebSocket } from 'ws';
import { SUPERSEDED, type MediaCodec } from '../../telephony/media.js';
import { machineDetectionFor } from '../../kernel/conversation/voicemail.js';
import { report } from '../../platform/telemetry/measurements.js';
import type { Engines } from '../engines/engines.js';
import type { Admission } from './admission.js';
import type { DetectionWatch } from './detection-watch.js';
import { openStreamSession, type StreamSession, type StreamSessionDeps } from './stream-session.js';

type Admitted = Extract<Admission, { admitted: true }>;
type Shared = Pick<
  StreamSessionDeps,
  | 'results'
  | 'liveWords'
  | 'recordings'
  | 'testRecordingTime'
  | 'phoneNumbers'
  | 'gateway'
  | 'engineCosts'
  | 'tools'
  | 'logger'
  | 'clock'
  | 'backgrounds'
  | 'closing'
  | 'lostForGoodMs'
  | 'costsEveryMs'
  | 'timings'
>;

/** Manages the streams of a media server, from admission until all their data is stored. */
export function createLiveStreams(p: {
  shared: Shared;
  engines: Engines;
  detections: DetectionWatch;
  /** Whether outbound calls are dialed with the carrier's answering machine detection. */
  voicemailDetection: boolean;
}) {
  const { shared, engines, detections } = p;
  /** The latest stream of each call that has started in this process. */
  const sessions = new Map<string, StreamSession & { resumption: number }>();
  /** All streams that have not ended, including those replaced by a later one. */
  const unsettled = new Set<StreamSession>();

  return {
    /** The latest streams, by call id. */
    sessions: sessions as ReadonlyMap<string, StreamSession>,

    /** Runs an admitted stream. @param stream.onDecided called when the stream has started, or can no longer start */
    begin(
      socket: WebSocket,
      admission: Admitted,
      stream: { codec: MediaCodec; onDecided: () => void } & Pick<StreamSessionDeps, 'options' | 'onClosed'>,
    ): StreamSession {
      const { request, carrierSid, granted, earlier } = admission;
      const callId = request._id;
      const wantsDetection =
        p.voicemailDetection &&
        request.direction === 'outbound' &&
        machineDetectionFor(request.agent.voicemailAction) !== undefined;
      // After each message, run the ticks of other calls that are due, instead of after the messages of all sockets.
      socket.on('message', () => shared.clock.turn());
      const session = openStreamSession({
        ...shared,
        socket,
        ...stream,
        request,
        carrierSid,
        granted,
        earlier,
        createEngine: () => engines.engineFor(request).create(),
        takesPrecedence(resumption) {
          const standing = sessions.get(callId);
          if (standing !== undefined && resumption <= standing.resumption) return false;
          standing?.suspend(SUPERSEDED);
          const live = { ...session, resumption };
          sessions.set(callId, live);
          if (wantsDetection) detections.watch(callId, session);
          void session.over.finally(() => {
            if (sessions.get(callId) === live) sessions.delete(callId);
          });
          return true;
        },
      });
      unsettled.add(session);
      report('mediaStream', { change: 1 });
      void session.over.finally(() => {
        unsettled.delete(session);
        report('mediaStream', { change: -1 });
        detections.unwatch(callId, session);
      });
      return session;
    },

    /** The started streams that carry a call. */
    live: () =>
      Array.from(sessions).flatMap(([callId, session]) =>
        session.isOpen() ? [{ callId, streamNumber: session.resumption }] : [],
      ),

    /** Resolves when all current streams have ended. */
    async allOver(): Promise<void> {
      await Promise.all(Array.from(unsettled, (session) => session.over));
    },

    suspendAll(why: string): void {
      for (const session of unsettled) session.suspend(why);
    },
  };
}
