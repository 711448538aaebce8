/** How far a media stream has come. */
export interface StreamProgress {
  /** The carrier broke it off: nothing is sent or awaited any more. */
  isBrokenOff: boolean;
  /** Why it ended; the first reason stays, unless the carrier breaks the stream off. */
  end?: string;
}

/** How the carrier breaks a stream off, so long after it opened. */
export interface StreamBreak {
  how: 'reset' | 'silence';
  afterMs: number;
  /** So much later the carrier takes the stream for gone. */
  goOnAfterMs: number;
}

export type SimulatedStreamEvent =
  | { type: 'opened' }
  | { type: 'breakDue' }
  /** The carrier has waited long enough for a stream that it broke off. */
  | { type: 'givenUp' }
  | { type: 'messageRejected' }
  | { type: 'upgradeRefused'; status: number }
  | { type: 'failed'; code: string | undefined; message: string }
  | { type: 'closed'; code: number }
  /** The call is over or has got other instructions. */
  | { type: 'dropped'; isOpen: boolean }
  /** The customer did not close the socket in time. */
  | { type: 'closeTimedOut' };

export type SimulatedStreamAction =
  /** Announces the stream and attaches it to the line. */
  | { do: 'start' }
  | { do: 'detach' }
  | { do: 'sendStop' }
  | { do: 'close'; code: number }
  | { do: 'terminate' }
  /** Resets the connection below the websocket. */
  | { do: 'reset' }
  /** Reads nothing any more, so that no ping is answered. The connection stays as it is. */
  | { do: 'pause' }
  | { do: 'noteError'; code: number; message: string }
  | { do: 'setTimer'; timer: StreamTimer; ms: number; event: SimulatedStreamEvent }
  | { do: 'clearTimers' }
  /** The socket is gone, so the end of the call no longer matters. */
  | { do: 'forgetCall' }
  /** The carrier goes on with the next verb. */
  | { do: 'finish' };

export type StreamTimer = 'break' | 'lastResort';

type Outcome = [StreamProgress, SimulatedStreamAction[]];

const CLOSE_WITHIN_MS = 2_000;

/**
 * What an event changes of a media stream, and what the carrier then does, in order.
 * @param plan how the scenario breaks this stream off, if it does
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
          { do: 'noteError', code: 31924, message },
          { do: 'close', code: 1_002 },
        ],
      ];
    }
    case 'upgradeRefused': {
      const message = `The upgrade was answered with ${event.status}.`;
      return [
        { ...stream, end: `refused with ${event.status}` },
        [{ do: 'noteError', code: 31920, message }, { do: 'terminate' }],
      ];
    }
    case 'failed':
      return stream.end === undefined ? fail(stream, event) : [stream, []];
    case 'closed':
      // A stream that the carrier broke off is over when its time has come.
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
  const text = `The stream broke: ${code ?? message}`;
  return [
    { ...stream, end: code ?? 'error' },
    [{ do: 'noteError', code: code === 'ECONNREFUSED' ? 31902 : 31901, message: text }],
  ];
}

/** Only an open socket can still be told that the stream is over. */
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
