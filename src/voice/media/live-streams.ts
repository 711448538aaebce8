import type { WebSocket } from 'ws';
import { machineDetectionFor } from '../../kernel/voicemail.js';
import type { Engines } from '../engines/engines.js';
import type { Admission } from './admission.js';
import type { DetectionWatch } from './detection-watch.js';
import { openStreamSession, type StreamSession, type StreamSessionDeps } from './stream-session.js';

type Admitted = Extract<Admission, { admitted: true }>;
type Shared = Pick<
  StreamSessionDeps,
  'results' | 'recordings' | 'gateway' | 'tools' | 'logger' | 'clock' | 'closing' | 'lostForGoodMs' | 'timings'
>;

/** The streams of a media server, from admission until all their data is stored. */
export function createLiveStreams(p: {
  shared: Shared;
  engines: Engines;
  detections: DetectionWatch;
  /** Whether the carrier is asked for answering machine detection. */
  voicemailDetection: boolean;
}) {
  const { shared, engines, detections } = p;
  /** The latest stream of each call that has started here. */
  const sessions = new Map<string, StreamSession & { resumption: number }>();
  /** All streams that are not over, including those replaced by a later one. */
  const unsettled = new Set<StreamSession>();

  return {
    /** The latest streams, by call id. */
    sessions: sessions as ReadonlyMap<string, StreamSession>,

    /** @param onDecided called when the stream has started, or will not start any more */
    begin(callId: string, socket: WebSocket, admission: Admitted, onDecided: () => void): void {
      const { request, carrierSid, carrier, granted, earlier } = admission;
      const wantsDetection =
        p.voicemailDetection &&
        request.direction === 'outbound' &&
        machineDetectionFor(request.agent.voicemailAction) !== undefined;
      // Run due ticks of other calls now, instead of after all ready sockets.
      socket.on('message', () => shared.clock.turn());
      const session = openStreamSession({
        ...shared,
        socket,
        codec: carrier.createCodec(),
        request,
        carrierSid,
        granted,
        earlier,
        createEngine: () => engines.of(request).create(),
        onDecided,
        takesPrecedence(resumption) {
          const standing = sessions.get(callId);
          if (standing !== undefined && resumption <= standing.resumption) return false;
          standing?.handOver('a later stream of the call has come');
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
      void session.over.finally(() => {
        unsettled.delete(session);
        detections.forget(callId, session);
      });
    },

    /** Resolves when all current streams are over. */
    async allOver(): Promise<void> {
      await Promise.all(Array.from(unsettled, (session) => session.over));
    },

    handAllOver(why: string): void {
      for (const session of unsettled) session.handOver(why);
    },
  };
}
