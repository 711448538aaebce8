import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { createBackgroundLoops } from '../audio/background-sound.js';
import { createDtmfTones } from '../audio/dtmf.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { CallInstructions, CarrierEventHandlers } from '../../telephony/callbacks.js';
import { carrierOfAccount } from '../../telephony/carriers.js';
import type { Carriers } from '../../telephony/port.js';
import type { Config } from '../../platform/config/config.js';
import { createPhoneNumberCheck, type PhoneNumberCheck } from '../../platform/numbering/phone-number-check.js';
import { createEgressClient } from '../../platform/egress/client.js';
import { createAccounts } from '../../identity/accounts/accounts.js';
import type { CallReader, MediaSignals } from '../call-reader.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createLiveWords } from '../live-words/live-words.js';
import { followWatchedCalls } from '../live-words/watched-calls.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import { createRecordings } from '../recordings/recordings.js';
import { createAudioStores } from '../recordings/stores/stores.js';
import { createTestRecordingTime } from '../recordings/test-recording-time.js';
import { pingMongodb } from '../../platform/mongo/connection.js';
import { createSecretBox } from '../../platform/secrets/secret-box.js';
import { createWebhookSecrets } from '../../webhooks/signing/secrets.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createToolQueues } from '../tools/tool-queues.js';
import { createBrowserSockets, isBrowserPath } from '../web/browser-sockets.js';
import { createArrivals } from './arrivals.js';
import { createAdmission, createCallAdmission, streamOfPath } from './admission.js';
import { STREAM_TIMINGS, type StreamTimings } from './carrier-stream.js';
import { createDrain, graceOf, SHUTDOWN_MS } from './drain.js';
import { watchDetections } from './detection-watch.js';
import { watchEndings } from './ending-watch.js';
import type { Engines } from '../engines/engines.js';
import { createFrameClock } from './frame-clock.js';
import { createLiveStreams } from './live-streams.js';
import { createMediaHttpServer, rejectUpgrade } from './media-http-server.js';
import { createStreamSlots, streamLimitsFor, type StreamLimits, type StreamOwner } from './stream-slots.js';

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
  /** Whether this process carries a call at the moment. */
  carries(callId: string): boolean;
  /**
   * Is not ready from now on. Still accepts streams for the drain delay, then rejects them, waits for calls to end, and
   * suspends the rest for another media server.
   */
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
/** Accepts the carrier's media streams at `{streamUrl}/<call_id>` and runs their calls. */
export function createMediaServer(deps: MediaServerDeps): MediaServer {
  const { config, database, calls, carriers, dialGate, engines, logger } = deps;
  const shutdownGraceMs = graceOf(config.media.drainMs);
  const timings = { ...STREAM_TIMINGS, shutdownGraceMs, shutdownMs: SHUTDOWN_MS, ...deps.timings };
  const admit = createAdmission({ config, carriers, database, calls });
  const bindings = createCarrierBindings(database);
  const slots = createStreamSlots(deps.limits ?? streamLimitsFor(config.media.maxCalls));
  const arrivals = createArrivals();
  const drain = createDrain({
    bindings,
    isFull: () => slots.isFull(),
    pingMongodb: () => pingMongodb(database),
    delayMs: config.drainDelayMs,
    timings,
    logger,
  });
  // The signal has one listener per recently lost stream, so disable the warning about many listeners.
  setMaxListeners(0, drain.moving);
  const phoneNumbers = createPhoneNumberCheck();
  const detections = watchDetections({ bindings, logger });
  const streams = createLiveStreams({
    shared: sharedByStreams({ ...deps, timings, phoneNumbers }, drain.moving),
    engines,
    detections,
    voicemailDetection: config.voicemailDetection,
  });
  const { sessions } = streams;
  const endings = watchEndings({ sessions, calls, logger, ...omitUndefined({ readEveryMs: timings.endingsEveryMs }) });
  const watched = followWatchedCalls({ sessions, liveWords: createLiveWords(database), logger });
  const sockets = new WebSocketServer({
    noServer: true,
    // Accept no subprotocol, even if one is offered.
    handleProtocols: () => false,
    ...SOCKET_LIMITS,
  });
  const httpServer = createMediaHttpServer({
    trustProxy: config.api.trustProxy,
    health: () => ({ closing: drain.isDraining(), calls: sessions.size }),
    checkReadiness: () => drain.checkReadiness(),
    onUpgrade: (...upgraded) => void upgrade(...upgraded),
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
    isClosing: drain.isClosing,
    admitCall: createCallAdmission({ database, calls }),
    slots,
    markVerified: (socket) => httpServer.markVerified(socket),
    ...(timings.legsEveryMs === undefined ? {} : { everyMs: timings.legsEveryMs }),
  });

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, client: string): Promise<void> {
    const asked = streamOfPath(config.streamUrl, request.url ?? '');
    if (asked === undefined) return rejectUpgrade(socket, 404, 'no such stream');
    const { callId, rest } = asked;
    if (drain.isClosing()) return rejectUpgrade(socket, 503, 'shutting down');
    if (isBrowserPath(rest)) return browser.upgrade(request, socket, head, callId);
    const arrival = arrivals.of(callId);
    // A proxy that has given up the stream sends it again.
    socket.once('close', arrival.end);
    const slot = { acquire: () => acquireSlot(socket), assign: (owner: StreamOwner) => slots.assign(socket, owner) };
    const sender = { client, isOpen: () => !socket.destroyed, arrive: arrival.begin, ...slot };
    try {
      const admission = await admit(callId, { rest, headers: request.headers }, sender);
      if (!admission.admitted) rejectUpgrade(socket, admission.status, admission.why);
      else if (drain.isClosing()) rejectUpgrade(socket, 503, 'shutting down');
      else {
        let begun = false;
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          begun = true;
          streams.begin(webSocket, admission, {
            codec: carrierOfAccount(carriers, admission.request).createCodec(),
            onDecided: arrival.end,
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
    arrival.end();
  }

  return {
    async listen() {
      await Promise.all([engines.warm(), dialGate.loadNumberingPlans(), phoneNumbers.load()]);
      return { port: await httpServer.listen(config.media) };
    },

    carries: (callId) => sessions.get(callId)?.isOpen() === true,

    async close() {
      await drain.run(streams);
      const stopped = httpServer.stop();
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
  deps: MediaServerDeps & {
    timings: StreamTimings & NonNullable<MediaServerDeps['timings']>;
    phoneNumbers: PhoneNumberCheck;
  },
  closing: AbortSignal,
) {
  const { config, database, gateway, calls, dialGate, logger, phoneNumbers, timings } = deps;
  const { lostForGoodMs, costsEveryMs, recordingGiveUpMs: giveUpAfterMs } = timings;
  const recordings = config.recordings.enabled
    ? createRecordings(database, {
        stores: createAudioStores(database, config.recordings),
        ...(giveUpAfterMs === undefined ? {} : { giveUpAfterMs }),
      })
    : undefined;
  const tools = {
    dialGate,
    rates: config.calls.rates,
    liveTransfers: config.calls.liveTransfers,
    accounts: createAccounts(database),
    webhookSecrets: createWebhookSecrets({ database, config }),
    secretBox: createSecretBox(config.encryptionKeys),
    egress: createEgressClient({ config }),
    queues: createToolQueues(),
    dtmfTones: createDtmfTones(),
    logger,
  };
  return {
    results: createConversationResults(database, calls),
    liveWords: createLiveWords(database),
    ...(recordings === undefined ? {} : { recordings }),
    testRecordingTime: createTestRecordingTime({ database, logger, ...config.recordings }),
    phoneNumbers,
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
