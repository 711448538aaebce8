/** The state of a media stream. */
export interface StreamProgress {
  /** True when the carrier has broken the stream off. Then nothing more is sent or expected. */
  isBrokenOff: boolean;
  /** Why the stream ended. The first reason stays, unless the carrier breaks the stream off. */
  end?: string;
}

/** How the carrier breaks off a stream, and how many ms after the stream opened. */
export interface StreamBreak {
  how: 'reset' | 'silence';
  afterMs: number;
  /** Delay, in ms, after which the carrier considers the stream ended. */
  goOnAfterMs: number;
}

export type SimulatedStreamEvent =
  | { type: 'opened' }
  | { type: 'breakDue' }
  /** The carrier stops waiting for the end of a stream that it broke off. */
  | { type: 'givenUp' }
  | { type: 'messageRejected' }
  | { type: 'upgradeRejected'; status: number }
  | { type: 'failed'; code: string | undefined; message: string }
  | { type: 'closed'; code: number }
  /** The call ended or was redirected. */
  | { type: 'dropped'; isOpen: boolean }
  /** The server of the carrier's customer did not close the socket in time. */
  | { type: 'closeTimedOut' };

export type SimulatedStreamAction =
  /** Sends `connected` and `start`, and attaches the stream to the line. */
  | { do: 'start' }
  | { do: 'detach' }
  | { do: 'sendStop' }
  | { do: 'close'; code: number }
  | { do: 'terminate' }
  /** Resets the TCP connection without closing the websocket. */
  | { do: 'reset' }
  /** Stops reading, so that the carrier does not answer pings. The connection stays open. */
  | { do: 'pause' }
  | { do: 'logError'; code: number; message: string }
  | { do: 'setTimer'; timer: StreamTimer; ms: number; event: SimulatedStreamEvent }
  | { do: 'clearTimers' }
  /** Stops listening for the end of the call, because the socket is closed. */
  | { do: 'forgetCall' }
  /** The carrier continues with the next verb. */
  | { do: 'finish' };

export type StreamTimer = 'break' | 'lastResort';

type Outcome = [StreamProgress, SimulatedStreamAction[]];

const CLOSE_WITHIN_MS = 2_000;

/**
 * Applies an event to a media stream.
 * @param plan how the scenario breaks off this stream, if it does
 * @returns the stream's new state and the actions that the carrier then takes, in order
 */
export function advanceStream(stream: StreamProgress, event: SimulatedStreamEvent, plan?: StreamBreak): Outcome {
  switch (event.type) {
    case 'opened':
      return [stream, [{ do: 'start' }, ...breakTimer(plan)]];
    case 'breakDue':
      return plan === undefined ? [stream, []] : breakOff(plan);
    case 'givenUp':
      return [stream, [{ do: 'finish' }]];
    case 'messageRejected': {
      const message = 'The customer sent a message that is not part of the protocol.';
      return [
        withEnd(stream, 'protocol error'),
        [
          { do: 'logError', code: 31924, message },
          { do: 'close', code: 1_002 },
        ],
      ];
    }
    case 'upgradeRejected': {
      const message = `The WebSocket upgrade was rejected with status ${event.status}.`;
      return [
        { ...stream, end: `rejected with ${event.status}` },
        [{ do: 'logError', code: 31920, message }, { do: 'terminate' }],
      ];
    }
    case 'failed':
      return stream.end === undefined ? fail(stream, event) : [stream, []];
    case 'closed':
      // If the carrier broke the stream off, the event `givenUp` ends the stream instead.
      if (stream.isBrokenOff) return [stream, []];
      return [
        withEnd(stream, `closed by the customer (${event.code})`),
        [{ do: 'detach' }, { do: 'clearTimers' }, { do: 'forgetCall' }, { do: 'finish' }],
      ];
    case 'dropped':
      return drop(stream, event.isOpen);
    case 'closeTimedOut':
      return [stream, [{ do: 'terminate' }]];
  }
}

function withEnd(stream: StreamProgress, end: string): StreamProgress {
  return { ...stream, end: stream.end ?? end };
}

function breakTimer(plan: StreamBreak | undefined): SimulatedStreamAction[] {
  return plan === undefined ? [] : [{ do: 'setTimer', timer: 'break', ms: plan.afterMs, event: { type: 'breakDue' } }];
}

function breakOff({ how, goOnAfterMs }: StreamBreak): Outcome {
  const end = how === 'reset' ? 'reset by the carrier' : 'fell silent';
  return [
    { isBrokenOff: true, end },
    [
      { do: 'detach' },
      { do: how === 'reset' ? 'reset' : 'pause' },
      { do: 'setTimer', timer: 'break', ms: goOnAfterMs, event: { type: 'givenUp' } },
    ],
  ];
}

function fail(stream: StreamProgress, { code, message }: Extract<SimulatedStreamEvent, { type: 'failed' }>): Outcome {
  const text = `The stream failed: ${code ?? message}`;
  return [
    { ...stream, end: code ?? 'error' },
    [{ do: 'logError', code: code === 'ECONNREFUSED' ? 31902 : 31901, message: text }],
  ];
}

/** Ends a stream whose call ended. Sends `stop` only if the socket is open. */
function drop(stream: StreamProgress, isOpen: boolean): Outcome {
  const dropped = withEnd(stream, 'call over');
  const first: SimulatedStreamAction[] = [{ do: 'detach' }, { do: 'clearTimers' }];
  if (stream.isBrokenOff || !isOpen) return [dropped, [...first, { do: 'terminate' }, { do: 'finish' }]];
  const overdue: SimulatedStreamAction = {
    do: 'setTimer',
    timer: 'lastResort',
    ms: CLOSE_WITHIN_MS,
    event: { type: 'closeTimedOut' },
  };
  return [dropped, [...first, { do: 'sendStop' }, { do: 'close', code: 1_000 }, overdue]];
}
