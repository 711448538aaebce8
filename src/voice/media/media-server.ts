import { setMaxListeners } from 'node:events';
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { Carriers } from '../../telephony/port.js';
import type { Config } from '../../platform/config/config.js';
import { machineDetectionFor } from '../../kernel/voicemail.js';
import { clientOf } from '../../platform/egress/client-address.js';
import { createEgressClient } from '../../platform/egress/client.js';
import { parseInParts } from '../../platform/egress/parse-in-parts.js';
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
import type { Admission } from './admission.js';
import { STREAM_TIMINGS } from './carrier-stream.js';
import type { StreamTimings } from './carrier-stream.js';
import { createConnectionGate } from './connection-gate.js';
import { watchDetections } from './detection-watch.js';
import { watchEndings } from './ending-watch.js';
import type { Engines } from '../engines/engines.js';
import { createFrameClock } from './frame-clock.js';
import { createStreamPlaces, type StreamLimits } from './stream-places.js';
import { openStreamSession } from './stream-session.js';
import type { StreamSession } from './stream-session.js';
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
  /** Fewer streams are for tests. */
  limits?: StreamLimits;
  /** Shorter ones are for tests. */
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
  /** Loads the engines, then takes streams. */
  listen(): Promise<{ port: number }>;
  /** Takes no more streams, lets live calls end for a while, then hands the others over to another media server. */
  close(): Promise<void>;
}

/** The longest text a carrier sends is some 400 bytes, in one fragment. */
export const SOCKET_LIMITS = {
  perMessageDeflate: false,
  maxPayload: 65_536,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  closeTimeout: 2_000,
};
/**
 * Streams with a valid signature, of whatever address: a carrier's come from a few. 200 test calls take half of a core,
 * which leaves live calls the other half.
 */
const MAX_STREAMS: StreamLimits = { all: 4_000, test: 200 };
/**
 * Connections without one. An address has room for all calls of a process at once, which come back together when another
 * process dies.
 */
const MAX_STRANGERS = { perClient: 1_000, total: 2_000 };
/** More than both: the oldest stranger is to make room, not the newest connection to be turned away. */
const MAX_CONNECTIONS = MAX_STREAMS.all + MAX_STRANGERS.total + 100;
/** Live calls may end by themselves this long after close was asked for. */
const SHUTDOWN_GRACE_MS = 4_000;
/** After the grace: the time to store how far the calls have come that are handed over. */
const SHUTDOWN_MS = 3_000;

/** Takes the carrier's media streams at `{streamUrl}/<call_id>` and conducts the calls on them. */
export function createMediaServer(deps: MediaServerDeps): MediaServer {
  const { config, database, gateway, calls, carriers, dialGate, engines, logger } = deps;
  const timings = { ...STREAM_TIMINGS, shutdownGraceMs: SHUTDOWN_GRACE_MS, shutdownMs: SHUTDOWN_MS, ...deps.timings };
  const results = createConversationResults(database, calls);
  const giveUpAfterMs = timings.recordingGiveUpMs;
  const recordingOptions = giveUpAfterMs === undefined ? {} : { giveUpAfterMs };
  const recordings = config.recordings.enabled ? createRecordings(database, recordingOptions) : undefined;
  const admit = createAdmission({ config, carriers, database, calls });
  /** The latest stream of each call that has started one here. */
  const sessions = new Map<string, StreamSession & { resumption: number }>();
  /** All sockets, those too that a later one has followed, until everything of theirs is stored. */
  const unsettled = new Set<StreamSession>();
  /** Calls with a socket on which nothing has started yet. */
  const arriving = new Set<string>();
  let closing = false;
  const { endingsEveryMs: readEveryMs, lostForGoodMs } = timings;
  const stopping = new AbortController();
  // One for each stream that was lost a moment ago.
  setMaxListeners(0, stopping.signal);
  const endings = watchEndings({ sessions, calls, logger, ...(readEveryMs === undefined ? {} : { readEveryMs }) });

  const detections = watchDetections({ bindings: createCarrierBindings(database), logger });
  const clock = createFrameClock();
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

  const server = createServer(
    {
      maxHeaderSize: 8_192,
      headersTimeout: 2_000,
      requestTimeout: 5_000,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: 500,
    },
    answer,
  );
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  const gate = createConnectionGate(MAX_STRANGERS);
  parseInParts(server);
  const answered = new WeakSet<Duplex>();
  const places = createStreamPlaces(deps.limits ?? MAX_STREAMS);
  const sockets = new WebSocketServer({
    noServer: true,
    // We speak no subprotocol; one that is offered is not agreed to.
    handleProtocols: () => false,
    ...SOCKET_LIMITS,
  });

  function answer(request: IncomingMessage, response: ServerResponse): void {
    // Each connection has one answer; who sends more requests does not wait for it.
    if (answered.has(request.socket)) return void request.socket.destroy();
    answered.add(request.socket);
    identify(request);
    const isHealth = request.url === '/health' && (request.method === 'GET' || request.method === 'HEAD');
    const status = isHealth ? (closing ? 503 : 200) : 404;
    const body = isHealth
      ? { status: closing ? 'closing' : 'ok', calls: sessions.size }
      : { success: false, message: 'There is nothing at this path.', error_code: 'NOT_FOUND' };
    // A body that nobody asked for is not read to its end.
    response.writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(JSON.stringify(body));
  }

  /** Until its headers are here, a proxy's connection is nobody's. */
  function identify(request: IncomingMessage): void {
    const { remoteAddress } = request.socket;
    const forwardedFor = request.headers['x-forwarded-for'];
    const { trustProxy } = config.api;
    gate.identify(request.socket, clientOf({ forwardedFor: String(forwardedFor ?? ''), remoteAddress, trustProxy }));
  }

  /** A carrier's account asks. @returns whether there is room for another stream */
  function welcome(socket: Duplex): boolean {
    gate.leave(socket);
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
        { take: () => welcome(socket), keep: (mode) => places.keep(socket, mode) },
      );
      if (!admission.admitted) refuse(socket, admission.status, admission.why);
      else if (closing) refuse(socket, 503, 'shutting down');
      else {
        let begun = false;
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          begun = true;
          begin(callId, webSocket, admission);
        });
        // Whether it follows another stream is told by its start; until then no further socket of the call is taken.
        if (begun) return;
      }
    } catch (error) {
      logger.error({ callId, err: error }, 'a stream could not be admitted');
      refuse(socket, 503, 'try again later');
    }
    arriving.delete(callId);
  }

  function begin(callId: string, socket: WebSocket, admission: Extract<Admission, { admitted: true }>): void {
    const { request, carrierSid, carrier, granted, earlier } = admission;
    const wantsDetection =
      config.voicemailDetection &&
      request.direction === 'outbound' &&
      machineDetectionFor(request.agent.voicemailAction) !== undefined;
    // Frames of other calls do not wait until all sockets that are ready were served.
    socket.on('message', () => clock.turn());
    const session = openStreamSession({
      socket,
      codec: carrier.createCodec(),
      request,
      carrierSid,
      granted,
      earlier,
      createEngine: () => engines.of(request).create(),
      results,
      ...(recordings === undefined ? {} : { recordings }),
      gateway,
      tools,
      logger,
      clock,
      closing: stopping.signal,
      ...(lostForGoodMs === undefined ? {} : { lostForGoodMs }),
      timings,
      onDecided: () => arriving.delete(callId),
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
  }

  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    const own = config.api.trustProxy ? undefined : clientOf({ forwardedFor: '', remoteAddress, trustProxy: false });
    gate.enter(socket, own);
  });
  server.on('upgrade', (request, socket, head) => {
    identify(request);
    socket.on('error', (error) => logger.debug({ err: error }, 'an upgrade broke off'));
    void upgrade(request, socket, head);
  });

  return {
    async listen() {
      await Promise.all([engines.warm(), dialGate.warm()]);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(config.media.port, config.media.host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return { port: (server.address() as AddressInfo).port };
    },

    async close() {
      closing = true;
      stopping.abort();
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await settledWithin(timings.shutdownGraceMs, allOver(unsettled));
      for (const session of unsettled) session.handOver('shutting down');
      await settledWithin(timings.shutdownMs, allOver(unsettled));
      for (const callId of sessions.keys()) logger.error({ callId }, 'a call was left before its end could be told');
      endings.close();
      detections.close();
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await stopped;
      await engines.close();
    },
  };
}

async function allOver(sessions: ReadonlySet<StreamSession>): Promise<void> {
  await Promise.all(Array.from(sessions, (session) => session.over));
}

/** Answers an upgrade with an HTTP status instead of a socket. */
function refuse(socket: Duplex, status: number, why: string): void {
  const body = JSON.stringify({ success: false, message: why });
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
