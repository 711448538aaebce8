import { addLog, newSid, logCallError, type CallRecord, type StreamLog } from '../call-record.js';
import type { StreamRequest } from '../instructions/verbs.js';
import type { StreamFaults } from '../scenario.js';
import { createTimers } from '../timers.js';
import type { Impairment } from './impairment.js';
import type { Line } from './line.js';
import {
  advanceStream,
  type SimulatedStreamAction,
  type SimulatedStreamEvent,
  type StreamBreak,
  type StreamProgress,
  type StreamTimer,
} from './stream-progress.js';
import { openStreamSocket } from './stream-socket.js';

export interface StreamDeps {
  call: CallRecord;
  line: Line;
  faults: StreamFaults;
  impairment: Impairment;
  /** Factor for the waiting times in scripts. */
  timeScale: number;
  signal: AbortSignal;
}

/**
 * Runs a bidirectional media stream to the customer's server. The simulated carrier is the client of the websocket.
 * Resolves when the stream is over, whichever side ended it. The call's log contains failures.
 * @param deps.signal aborts the stream when the call ended or was redirected: sends `stop`, then closes the socket
 */
export async function runMediaStream(deps: StreamDeps, request: StreamRequest): Promise<void> {
  const { call, signal } = deps;
  const fault = findUrlFault(request.url);
  if (fault !== undefined) {
    logCallError(call, fault.code, fault.message);
    return;
  }
  if (signal.aborted) return;
  const log = newStreamLog(request.url);
  addLog(call.streams, log);
  await new Promise<void>((finish) => runStreamSocket(deps, request, log, finish));
}

/** Applies the actions of `advanceStream` to the socket and its timers. */
function runStreamSocket(deps: StreamDeps, request: StreamRequest, log: StreamLog, finish: () => void): void {
  const { call, signal } = deps;
  const plan = planBreak(deps);
  const timers = createTimers<StreamTimer>();
  const socket = openStreamSocket({ ...deps, log, request }, applyEvent);
  const dropStream = () => applyEvent({ type: 'dropped', isOpen: socket.isOpen() });
  let progress: StreamProgress = { isBrokenOff: false };

  function applyEvent(event: SimulatedStreamEvent): void {
    const [next, actions] = advanceStream(progress, event, plan);
    progress = next;
    if (next.end !== undefined) log.end = next.end;
    for (const action of actions) perform(action);
  }

  function perform(action: SimulatedStreamAction): void {
    switch (action.do) {
      case 'setTimer':
        return timers.set(action.timer, action.ms, () => applyEvent(action.event));
      case 'clearTimers':
        return timers.clear();
      case 'logError':
        return logCallError(call, action.code, action.message);
      case 'close':
        return socket.close(action.code);
      case 'forgetCall':
        return signal.removeEventListener('abort', dropStream);
      case 'finish':
        return finish();
      default:
        return socket[action.do]();
    }
  }

  signal.addEventListener('abort', dropStream, { once: true });
}

/** Returns how the scenario breaks off the latest stream of the call. Undefined if it does not. */
function planBreak({ call, faults: { breakOff }, timeScale }: StreamDeps): StreamBreak | undefined {
  if (breakOff === undefined || call.streams.length > breakOff.times) return undefined;
  return {
    how: breakOff.how,
    afterMs: breakOff.afterSeconds * 1_000 * timeScale,
    goOnAfterMs: breakOff.goOnAfterSeconds * 1_000 * timeScale,
  };
}

function newStreamLog(url: string): StreamLog {
  return {
    streamSid: newSid('MZ'),
    url,
    at: new Date().toISOString(),
    framesSent: 0,
    mediaReceived: 0,
    bytesReceived: 0,
    framesDiscarded: 0,
    framesLost: 0,
    framesOmitted: 0,
    clears: 0,
    marks: [],
  };
}

/**
 * Twilio only streams to `wss` URLs without a query string. The simulator also accepts plain `ws` for loopback
 * addresses and for host names without a dot, which only a container network resolves.
 */
function findUrlFault(text: string): { code: number; message: string } | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { code: 31920, message: 'The stream URL is not a URL.' };
  }
  if (url.search !== '') return { code: 31920, message: 'A stream URL must not have a query string.' };
  const nearby = /^(127\.\d+\.\d+\.\d+|\[::1\]|[a-z][a-z0-9-]*)$/.test(url.hostname);
  if (url.protocol === 'wss:' || (url.protocol === 'ws:' && nearby)) return undefined;
  return { code: 31922, message: 'The scheme of a stream URL must be wss.' };
}
