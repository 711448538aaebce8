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

/** The streams of a media server, from their admission until everything of theirs is stored. */
export function createLiveStreams(p: {
  shared: Shared;
  engines: Engines;
  detections: DetectionWatch;
  /** Whether the carrier's detection of answering machines is asked for. */
  voicemailDetection: boolean;
}) {
  const { shared, engines, detections } = p;
  /** The latest stream of each call that has started one here. */
  const sessions = new Map<string, StreamSession & { resumption: number }>();
  /** All sockets, those too that a later one has followed. */
  const unsettled = new Set<StreamSession>();

  return {
    /** By call. */
    sessions: sessions as ReadonlyMap<string, StreamSession>,

    /** @param onDecided the stream has started, or will not start any more */
    begin(callId: string, socket: WebSocket, admission: Admitted, onDecided: () => void): void {
      const { request, carrierSid, carrier, granted, earlier } = admission;
      const wantsDetection =
        p.voicemailDetection &&
        request.direction === 'outbound' &&
        machineDetectionFor(request.agent.voicemailAction) !== undefined;
      // Frames of other calls do not wait until all sockets that are ready were served.
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

    /** Resolves when all that there are now are over. */
    async allOver(): Promise<void> {
      await Promise.all(Array.from(unsettled, (session) => session.over));
    },

    handAllOver(why: string): void {
      for (const session of unsettled) session.handOver(why);
    },
  };
}
