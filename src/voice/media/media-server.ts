import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { Carriers } from '../../telephony/port.js';
import type { Config } from '../../platform/config/config.js';
import { createEgressClient } from '../../platform/egress/client.js';
import { createAccounts } from '../../identity/accounts/accounts.js';
import type { CallReader, MediaSignals } from '../call-reader.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import { createRecordings } from '../recordings/recordings.js';
import { createSecretBox } from '../../platform/secrets/secret-box.js';
import { createWebhookSecrets } from '../../webhooks/secrets.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createAdmission, streamOfPath } from './admission.js';
import { STREAM_TIMINGS, type StreamTimings } from './carrier-stream.js';
import { watchDetections } from './detection-watch.js';
import { watchEndings } from './ending-watch.js';
import type { Engines } from '../engines/engines.js';
import { createFrameClock } from './frame-clock.js';
import { createLiveStreams } from './live-streams.js';
import { createMediaFront, refuse } from './media-front.js';
import { createStreamPlaces, MAX_STREAMS, type StreamLimits } from './stream-places.js';
import { settledWithin } from '../session/within.js';

export interface MediaServerDeps {
  config: Config;
  database: VoiceDatabase;
  gateway: MediaSignals;
  calls: CallReader;
  dialGate: DialGate;
  carriers: Carriers;
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
      recordingGiveUpMs: number;
    }
  >;
}

export interface MediaServer {
  /** Loads the engines, then accepts streams. */
  listen(): Promise<{ port: number }>;
  /** Refuses new streams, lets live calls end for a while, then hands the rest over to another media server. */
  close(): Promise<void>;
}

/** A carrier's longest text message is about 400 bytes, in one fragment. */
export const SOCKET_LIMITS = {
  perMessageDeflate: false,
  maxPayload: 65_536,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  closeTimeout: 2_000,
};
/** On shutdown, how long live calls may end by themselves. */
const SHUTDOWN_GRACE_MS = 4_000;
/** After that: timeout for storing the progress of the calls to hand over. */
const SHUTDOWN_MS = 3_000;

/** Accepts the carrier's media streams at `{streamUrl}/<call_id>` and runs their calls. */
export function createMediaServer(deps: MediaServerDeps): MediaServer {
  const { config, database, calls, carriers, dialGate, engines, logger } = deps;
  const timings = { ...STREAM_TIMINGS, shutdownGraceMs: SHUTDOWN_GRACE_MS, shutdownMs: SHUTDOWN_MS, ...deps.timings };
  const { endingsEveryMs: readEveryMs } = timings;
  const admit = createAdmission({ config, carriers, database, calls });
  const places = createStreamPlaces(deps.limits ?? MAX_STREAMS);
  /** Calls with a socket whose stream has not started yet. */
  const arriving = new Set<string>();
  let closing = false;
  const stopping = new AbortController();
  // The signal has one listener per recently lost stream: disable the warning.
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
  const sockets = new WebSocketServer({
    noServer: true,
    // Accept no subprotocol, even if one is offered.
    handleProtocols: () => false,
    ...SOCKET_LIMITS,
  });
  const front = createMediaFront({
    trustProxy: config.api.trustProxy,
    health: () => ({ closing, calls: sessions.size }),
    onUpgrade: (request, socket, head) => void upgrade(request, socket, head),
    logger,
  });

  /** A carrier's signature is valid. @returns whether there is room for another stream */
  function welcome(socket: Duplex): boolean {
    front.welcome(socket);
    return places.take(socket);
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const asked = streamOfPath(config.streamUrl, request.url ?? '');
    if (asked === undefined) return refuse(socket, 404, 'no such stream');
    const { callId, rest } = asked;
    if (closing) return refuse(socket, 503, 'shutting down');
    if (arriving.has(callId)) return refuse(socket, 409, 'the call has its stream');
    arriving.add(callId);
    try {
      const admission = await admit(
        callId,
        { rest, headers: request.headers },
        { take: () => welcome(socket), keep: (owner) => places.keep(socket, owner) },
      );
      if (!admission.admitted) refuse(socket, admission.status, admission.why);
      else if (closing) refuse(socket, 503, 'shutting down');
      else {
        let begun = false;
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          begun = true;
          streams.begin(callId, webSocket, admission, () => arriving.delete(callId));
        });
        // Only its `start` shows whether it follows another stream; until then accept no other socket of this call.
        if (begun) return;
      }
    } catch (error) {
      logger.error({ callId, err: error }, 'a stream could not be admitted');
      refuse(socket, 503, 'try again later');
    }
    arriving.delete(callId);
  }

  return {
    async listen() {
      await Promise.all([engines.warm(), dialGate.warm()]);
      return { port: await front.listen(config.media) };
    },

    async close() {
      closing = true;
      stopping.abort();
      const stopped = front.stop();
      await settledWithin(timings.shutdownGraceMs, streams.allOver());
      streams.handAllOver('shutting down');
      await settledWithin(timings.shutdownMs, streams.allOver());
      for (const callId of sessions.keys()) logger.error({ callId }, 'a call was left before its end could be told');
      endings.close();
      detections.close();
      for (const socket of sockets.clients) socket.terminate();
      front.closeAll();
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
  const { lostForGoodMs, recordingGiveUpMs: giveUpAfterMs } = timings;
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
    ...(recordings === undefined ? {} : { recordings }),
    gateway,
    tools,
    logger,
    clock: createFrameClock(),
    closing,
    ...(lostForGoodMs === undefined ? {} : { lostForGoodMs }),
    timings,
  };
}
