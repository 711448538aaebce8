import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { createLostAccess, type LostAccess } from '../../identity/access/lost-access.js';
import type { Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallInstructions, CarrierEventHandlers } from '../../telephony/callbacks.js';
import { ProtocolViolation } from '../../telephony/media.js';
import { createWebCarrier } from '../../telephony/web/carrier.js';
import {
  createWebCodec,
  encodeEnded,
  encodeReady,
  encodeReconnectToken,
  parseStart,
  type LegEndWord,
} from '../../telephony/web/codec.js';
import { legIdOf } from '../../telephony/web/leg.js';
import type { WebLegDocument } from '../../telephony/web/leg-model.js';
import { createWebLegs } from '../../telephony/web/legs.js';
import { createLegTokens, hashOfToken } from '../../telephony/web/tokens.js';
import type { StreamedCall } from '../call-reader.js';
import type { VoiceDatabase } from '../database.js';
import type { createCallAdmission } from '../media/admission.js';
import type { createLiveStreams } from '../media/live-streams.js';
import { rejectUpgrade } from '../media/media-http-server.js';
import { limitFrames } from '../media/socket-limits.js';
import type { createStreamSlots, StreamOwner } from '../media/stream-slots.js';
import { watchLegs } from './leg-watch.js';
import { isAllowedOrigin } from './origins.js';

/** The part of a browser's URL after the call's id. */
const BROWSER_PATH = '/web';
/** Time limit for the browser's `start` message. */
const START_MS = 2_000;
/** Maximum frames of any kind from a socket that is not admitted. One message is expected, and pongs may come. */
const MAX_FRAMES = 20;
/** Time limit for the decision about a call that lost its socket. */
const DECIDE_MS = 12_000;
/** How long a token is rejected without a look at the call after its call got no stream, in ms. */
const BUSY_MS = 500;
/** Maximum rejected tokens that a process stores. */
const MAX_REJECTIONS = 10_000;
/** Close codes by which a browser ends the call: 1001 when its page closes. */
const PAGE_CLOSED = [1001];

/** The admission of a socket, with the token for the next one. */
interface Admitted {
  leg: WebLegDocument;
  socketId: string;
  token: string;
  admission: Extract<Awaited<ReturnType<ReturnType<typeof createCallAdmission>>>, { admitted: true }>;
}

/** The first message of a socket. */
interface FirstMessage {
  data: Buffer;
  isBinary: boolean;
}

/** Why a socket is not admitted. */
interface Rejection {
  word: LegEndWord;
  code: number;
}

const UNAUTHORIZED: Rejection = { word: 'rejected', code: 1008 };
const OVER: Rejection = { word: 'call_ended', code: 1000 };
const BUSY: Rejection = { word: 'reconnect', code: 1013 };

export interface BrowserSocketDeps {
  config: Pick<Config, 'publicBaseUrl' | 'production' | 'apiKeyPepper' | 'formerPeppers' | 'calls'>;
  database: VoiceDatabase;
  web: Pick<CarrierEventHandlers, 'handleStatus'> & Pick<CallInstructions, 'continueAfterStream'>;
  sockets: WebSocketServer;
  streams: ReturnType<typeof createLiveStreams>;
  admitCall: ReturnType<typeof createCallAdmission>;
  slots: Pick<ReturnType<typeof createStreamSlots>, 'acquire' | 'assign' | 'release'>;
  /** Stops counting the socket as unverified. */
  markVerified: (socket: Duplex) => void;
  /** Whether the media server is shutting down. */
  isClosing: () => boolean;
  logger: Logger;
  everyMs?: number;
}

/** Whether the rest of a media stream's path, after the call's id, is that of a browser's socket. */
export function isBrowserPath(rest: string): boolean {
  return rest === BROWSER_PATH;
}

/** Returns the URL at which a browser opens the socket of a call. */
export function browserUrlOf(streamUrl: string, callId: string): string {
  return `${streamUrl}/${callId}${BROWSER_PATH}`;
}

/** Accepts the sockets of browsers. The first message of a socket has its token, because URLs are logged. */
export function createBrowserSockets(deps: BrowserSocketDeps) {
  const { config, database, sockets, streams, logger, slots } = deps;
  const legs = createWebLegs(database);
  const tokens = createLegTokens(config);
  const lostAccess = createLostAccess(database);
  const watch = watchLegs({ ...deps, legs, lostAccess, events: deps.web });
  const admit = createLegAdmission({ ...deps, legs, lostAccess, tokens });
  const tokensUsed = createUsedTokens();

  /** @param onAdmitted called when the socket is admitted, before its stream begins */
  async function begin(socket: WebSocket, raw: Duplex, callId: string, first: FirstMessage, onAdmitted: () => void) {
    const token = parseStart(first.data, first.isBinary);
    if (!tokens.isGenuine(callId, token)) return reject(socket, UNAUTHORIZED);
    if (deps.isClosing()) return reject(socket, BUSY);
    // A used token is genuine, too. So it must not take a slot, nor leave the limit per client.
    const admitted = await tokensUsed.admitOnce(hashOfToken(token), async () =>
      slots.acquire(raw) ? admit(callId, token, (owner) => slots.assign(raw, owner)) : BUSY,
    );
    if ('word' in admitted) {
      slots.release(raw);
      return reject(socket, admitted);
    }
    deps.markVerified(raw);
    const { leg, socketId, admission } = admitted;
    if (leg.streamNumber === 0) void watch.reportStart(leg);
    // The browser has gone meanwhile. The leg ends when its time to reconnect is over.
    if (socket.readyState !== socket.OPEN) return undefined;
    onAdmitted();
    const { _id: legId, streamNumber } = leg;
    // A browser that responds to the ping has received `ready` before it.
    socket.once('pong', () => void watch.confirmReady({ legId, socketId }, hashOfToken(token)));
    socket.send(encodeReady(callId, admitted.token));
    socket.ping();
    const session = streams.begin(socket, admission, {
      codec: createWebCodec({ streamId: socketId, carrierSid: legId, isTelephoneAudio: true, streamNumber }),
      options: { first: first.data, orderlyCloseCodes: PAGE_CLOSED },
      onDecided: () => undefined,
      onClosed(how) {
        watch.remove(socketId);
        const isOver = 'code' in how ? how.code === 1000 || how.code === 1011 : how.end !== 'dropped';
        const isCallers = 'end' in how && how.end !== 'misused';
        if (isOver) void watch.end({ legId, socketId }, isCallers ? 'caller' : 'service');
        else void watch.lose({ legId, socketId });
      },
    });
    let current = admitted.token;
    watch.add({
      legId,
      socketId,
      openedBy: leg.openedBy,
      end: () => session.callIsOver(),
      leave: (why) => session.suspend(why),
      async renewToken() {
        const next = tokens.issue(callId);
        if (!(await legs.rotate({ legId, socketId }, hashOfToken(next), hashOfToken(current)))) return;
        current = next;
        if (socket.readyState === socket.OPEN) socket.send(encodeReconnectToken(next));
      },
    });
    return undefined;
  }

  /** Waits for the first message. Until the socket is admitted, a second one closes it. */
  function receive(socket: WebSocket, raw: Duplex, callId: string): void {
    const timer = setTimeout(() => reject(socket, UNAUTHORIZED), START_MS);
    const tooMany = () => reject(socket, UNAUTHORIZED);
    // Stays on a socket that is rejected, because it is read until the browser has answered the close.
    const liftLimit = limitFrames(socket, raw, MAX_FRAMES);
    const onError = () => socket.terminate();
    socket.on('error', onError);
    socket.once('close', () => clearTimeout(timer));
    socket.once('message', (data: RawData, isBinary) => {
      clearTimeout(timer);
      socket.on('message', tooMany);
      begin(socket, raw, callId, { data: data as Buffer, isBinary }, liftLimit)
        .catch((error: unknown) => {
          if (error instanceof ProtocolViolation) return reject(socket, { word: 'rejected', code: error.closeCode });
          logger.error({ callId, err: error }, 'browser’s socket not admitted');
          return reject(socket, BUSY);
        })
        .finally(() => socket.off('message', tooMany));
    });
  }

  return {
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, callId: string): void {
      if (!isAllowedOrigin(request.headers.origin, config)) return rejectUpgrade(socket, 403, 'origin not allowed');
      sockets.handleUpgrade(request, socket, head, (webSocket) => receive(webSocket, socket, callId));
    },

    close: () => watch.close(),
  };
}

function reject(socket: WebSocket, { word, code }: Rejection): undefined {
  if (socket.readyState !== socket.OPEN) return undefined;
  socket.send(encodeEnded(word));
  socket.close(code);
  return undefined;
}

/**
 * Stores tokens that this process has rejected or is admitting, so that repeats cost no database read. A rejected token
 * never becomes valid.
 */
function createUsedTokens() {
  const rejections = new Map<string, Rejection>();
  const pending = new Set<string>();
  return {
    async admitOnce(tokenHash: string, admit: () => Promise<Admitted | Rejection>): Promise<Admitted | Rejection> {
      // The socket that came first may be lost before it is admitted. Then this one must be able to come again.
      const known = rejections.get(tokenHash) ?? (pending.has(tokenHash) ? BUSY : undefined);
      if (known !== undefined) return known;
      pending.add(tokenHash);
      let result: Admitted | Rejection | undefined;
      try {
        result = await admit();
        if ('word' in result && result !== BUSY) {
          rejections.set(tokenHash, result);
          const [oldest] = rejections.keys();
          if (rejections.size > MAX_REJECTIONS && oldest !== undefined) rejections.delete(oldest);
        }
        return result;
      } finally {
        if (result === BUSY) setTimeout(() => pending.delete(tokenHash), BUSY_MS).unref();
        else pending.delete(tokenHash);
      }
    },
  };
}

/** Returns the function that admits the sender of a genuine token to a call, or says why not. */
function createLegAdmission(
  deps: BrowserSocketDeps & {
    legs: ReturnType<typeof createWebLegs>;
    lostAccess: LostAccess;
    tokens: ReturnType<typeof createLegTokens>;
  },
) {
  const { legs, lostAccess, tokens, admitCall, web } = deps;

  async function end(leg: WebLegDocument): Promise<Rejection> {
    await legs.end(leg._id, { at: await legs.now(), cause: 'service' });
    return OVER;
  }

  /** Returns the number of the stream that follows a lost one; undefined if the call is over. */
  async function nextStream(callId: string, leg: WebLegDocument): Promise<number | undefined> {
    const carrier = createWebCarrier({ legs, mode: leg.mode });
    const next = await web.continueAfterStream(
      callId,
      { mode: leg.mode, carrier, carrierSid: leg._id },
      { streamNumber: leg.streamNumber },
      { deadline: Date.now() + DECIDE_MS, requestId: `web:${randomUUID()}` },
    );
    return next.kind === 'stream' ? next.streamNumber : undefined;
  }

  return async function admit(
    callId: string,
    token: string,
    assign: (owner: StreamOwner) => boolean,
  ): Promise<Admitted | Rejection> {
    const found = await legs.find(legIdOf(callId));
    const tokenHash = hashOfToken(token);
    if (found === null) return UNAUTHORIZED;
    const leg = await legs.settle(found);
    if (leg.endedAt !== undefined) return leg.startedAt === undefined ? UNAUTHORIZED : OVER;
    if (![leg.tokenHash, leg.previousTokenHash].includes(tokenHash)) return UNAUTHORIZED;
    if (leg.openedBy !== undefined && (await lostAccess.among([leg.openedBy])).size > 0) return end(leg);
    const streamNumber = leg.startedAt === undefined ? 0 : await nextStream(callId, leg);
    if (streamNumber === undefined) return end(leg);
    const carrierOf = ({ mode }: StreamedCall) => (mode === leg.mode ? createWebCarrier({ legs, mode }) : undefined);
    const admission = await admitCall(callId, { assign, carrierOf });
    if (!admission.admitted) return admission.status === 503 ? BUSY : OVER;
    // The server may have begun to shut down meanwhile. Then the token must remain valid for another one.
    if (deps.isClosing()) return BUSY;
    const [socketId, next] = [randomUUID(), tokens.issue(callId)];
    const claimed = await legs.claim({ leg, tokenHash, socketId, streamNumber, nextTokenHash: hashOfToken(next) });
    // Another socket came first, or the leg has ended. The next attempt shows which.
    return claimed === null ? BUSY : { leg: claimed, socketId, token: next, admission };
  };
}
