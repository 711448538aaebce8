import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { createBackgroundLoops } from '../audio/background-sound.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CallInstructions, CarrierEventHandlers } from '../../telephony/callbacks.js';
import type { Carriers } from '../../telephony/port.js';
import type { Config } from '../../platform/config/config.js';
import { createEgressClient } from '../../platform/egress/client.js';
import { createAccounts } from '../../identity/accounts/accounts.js';
import type { CallReader, MediaSignals } from '../call-reader.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createLiveWords } from '../live-words/live-words.js';
import { followWatchedCalls } from '../live-words/watched-calls.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import { createRecordings } from '../recordings/recordings.js';
import { createTestRecordingTime } from '../recordings/test-recording-time.js';
import { createSecretBox } from '../../platform/secrets/secret-box.js';
import { createWebhookSecrets } from '../../webhooks/secrets.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createBrowserSockets, isBrowserPath } from '../web/browser-sockets.js';
import { createAdmission, createCallAdmission, streamOfPath } from './admission.js';
import { STREAM_TIMINGS, type StreamTimings } from './carrier-stream.js';
import { watchDetections } from './detection-watch.js';
import { watchEndings } from './ending-watch.js';
import type { Engines } from '../engines/engines.js';
import { createFrameClock } from './frame-clock.js';
import { createLiveStreams } from './live-streams.js';
import { createMediaHttpServer, rejectUpgrade } from './media-http-server.js';
import { createStreamSlots, MAX_STREAMS, type StreamLimits } from './stream-slots.js';
import { waitAtMost } from '../session/wait-at-most.js';

export interface MediaServerDeps {
  config: Config;
  database: VoiceDatabase;
  gateway: MediaSignals;
  calls: CallReader;
  dialGate: DialGate;
  carriers: Carriers;
  /** Takes reports about the legs of calls in the browser, and decides about lost ones; implemented by the calls domain. */
  web: Pick<CarrierEventHandlers, 'handleStatus'> & Pick<CallInstructions, 'continueAfterStream'>;
  engines: Engines;
  logger: Logger;
  /** Overridden only by tests. */
  limits?: StreamLimits;
  /** Overridden only by tests. */
  timings?: Partial<
    StreamTimings & {
      shutdownGraceMs: number;
      shutdownMs: number;
      endingsEveryMs: number;
      lostForGoodMs: number;
      costsEveryMs: number;
      recordingGiveUpMs: number;
      legsEveryMs: number;
    }
  >;
}

export interface MediaServer {
  /** Loads the engines, then accepts streams. */
  listen(): Promise<{ port: number }>;
  /** Rejects new streams, waits some seconds for calls to end, then suspends the rest for another media server. */
  close(): Promise<void>;
}

/** Limits of a media socket. A carrier's longest text message is about 400 bytes, in one fragment. */
export const SOCKET_LIMITS = {
  perMessageDeflate: false,
  maxPayload: 65_536,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  closeTimeout: 2_000,
};
/** How long the server waits on shutdown for calls to end before it suspends them. */
const SHUTDOWN_GRACE_MS = 4_000;
/** Timeout on shutdown for storing the progress of suspended calls. */
const SHUTDOWN_MS = 3_000;

/** Accepts the carrier's media streams at `{streamUrl}/<call_id>` and runs their calls. */
export function createMediaServer(deps: MediaServerDeps): MediaServer {
  const { config, database, calls, carriers, dialGate, engines, logger } = deps;
  const timings = { ...STREAM_TIMINGS, shutdownGraceMs: SHUTDOWN_GRACE_MS, shutdownMs: SHUTDOWN_MS, ...deps.timings };
  const { endingsEveryMs: readEveryMs } = timings;
  const admit = createAdmission({ config, carriers, database, calls });
  const slots = createStreamSlots(deps.limits ?? MAX_STREAMS);
  /** Calls with a socket whose stream has not started yet. */
  const arriving = new Set<string>();
  let closing = false;
  const stopping = new AbortController();
  // The signal has one listener per recently lost stream, so disable the warning about many listeners.
  setMaxListeners(0, stopping.signal);
  const detections = watchDetections({ bindings: createCarrierBindings(database), logger });
  const streams = createLiveStreams({
    shared: sharedByStreams({ ...deps, timings }, stopping.signal),
    engines,
    detections,
    voicemailDetection: config.voicemailDetection,
  });
  const { sessions } = streams;
  const endings = watchEndings({ sessions, calls, logger, ...(readEveryMs === undefined ? {} : { readEveryMs }) });
  const watched = followWatchedCalls({ sessions, liveWords: createLiveWords(database), logger });
  const sockets = new WebSocketServer({
    noServer: true,
    // Accept no subprotocol, even if one is offered.
    handleProtocols: () => false,
    ...SOCKET_LIMITS,
  });
  const httpServer = createMediaHttpServer({
    trustProxy: config.api.trustProxy,
    health: () => ({ closing, calls: sessions.size }),
    onUpgrade: (request, socket, head) => void upgrade(request, socket, head),
    logger,
  });

  /** Call this when a carrier's signature is valid. @returns false if the server has too many streams */
  function acquireSlot(socket: Duplex): boolean {
    httpServer.markVerified(socket);
    return slots.acquire(socket);
  }

  const browser = createBrowserSockets({
    ...deps,
    sockets,
    streams,
    isClosing: () => closing,
    admitCall: createCallAdmission({ database, calls }),
    slots,
    markVerified: (socket) => httpServer.markVerified(socket),
    ...(timings.legsEveryMs === undefined ? {} : { everyMs: timings.legsEveryMs }),
  });

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const asked = streamOfPath(config.streamUrl, request.url ?? '');
    if (asked === undefined) return rejectUpgrade(socket, 404, 'no such stream');
    const { callId, rest } = asked;
    if (closing) return rejectUpgrade(socket, 503, 'shutting down');
    if (isBrowserPath(rest)) return browser.upgrade(request, socket, head, callId);
    if (arriving.has(callId)) return rejectUpgrade(socket, 409, 'the call already has a media stream');
    arriving.add(callId);
    try {
      const admission = await admit(
        callId,
        { rest, headers: request.headers },
        { acquire: () => acquireSlot(socket), assign: (owner) => slots.assign(socket, owner) },
      );
      if (!admission.admitted) rejectUpgrade(socket, admission.status, admission.why);
      else if (closing) rejectUpgrade(socket, 503, 'shutting down');
      else {
        let begun = false;
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          begun = true;
          streams.begin(webSocket, admission, {
            codec: carriers[admission.request.mode].createCodec(),
            onDecided: () => arriving.delete(callId),
          });
        });
        // Only the `start` message shows whether this stream follows another one of the call. Until it arrives, accept
        // no further socket of the call.
        if (begun) return;
      }
    } catch (error) {
      logger.error({ callId, err: error }, 'media stream admission failed');
      rejectUpgrade(socket, 503, 'try again later');
    }
    arriving.delete(callId);
  }

  return {
    async listen() {
      await Promise.all([engines.warm(), dialGate.loadNumberingPlans()]);
      return { port: await httpServer.listen(config.media) };
    },

    async close() {
      closing = true;
      stopping.abort();
      const stopped = httpServer.stop();
      await waitAtMost(timings.shutdownGraceMs, streams.allOver());
      streams.suspendAll('shutting down');
      await waitAtMost(timings.shutdownMs, streams.allOver());
      for (const callId of sessions.keys()) logger.error({ callId }, 'call end not reported before shutdown');
      await browser.close();
      endings.close();
      watched.close();
      detections.close();
      for (const socket of sockets.clients) socket.terminate();
      httpServer.closeAll();
      await stopped;
      await engines.close();
    },
  };
}

/** Dependencies shared by all streams of the process. */
function sharedByStreams(
  deps: MediaServerDeps & { timings: StreamTimings & NonNullable<MediaServerDeps['timings']> },
  closing: AbortSignal,
) {
  const { config, database, gateway, calls, dialGate, logger, timings } = deps;
  const { lostForGoodMs, costsEveryMs, recordingGiveUpMs: giveUpAfterMs } = timings;
  const recordings = config.recordings.enabled
    ? createRecordings(database, giveUpAfterMs === undefined ? {} : { giveUpAfterMs })
    : undefined;
  const tools = {
    dialGate,
    rates: config.calls.rates,
    liveTransfers: config.calls.liveTransfers,
    accounts: createAccounts(database),
    webhookSecrets: createWebhookSecrets({ database, config }),
    secretBox: createSecretBox(config.encryptionKeys),
    egress: createEgressClient({ config }),
    logger,
  };
  return {
    results: createConversationResults(database, calls),
    liveWords: createLiveWords(database),
    ...(recordings === undefined ? {} : { recordings }),
    testRecordingTime: createTestRecordingTime({ database, logger, ...config.recordings }),
    gateway,
    engineCosts: dialGate,
    tools,
    logger,
    clock: createFrameClock(),
    backgrounds: createBackgroundLoops(),
    closing,
    ...(lostForGoodMs === undefined ? {} : { lostForGoodMs }),
    ...(costsEveryMs === undefined ? {} : { costsEveryMs }),
    timings,
  };
}
