import type { RouteHandlers } from '../../identity/access/principal.js';
import { createCallActionHandlers, type CallActionsDeps } from './call-actions.js';
import { createCallReading, type CallReadingDeps } from './call-reading.js';
import { createCallReadHandlers, type CallHandlersDeps } from './calls.js';
import type { callRoutes } from './contract.js';
import { createReadRecording } from './recording.js';
import { createWatchCall } from './watch-call.js';
import { createReadWaveform } from './waveform.js';

export type CallViewsDeps = CallReadingDeps &
  Omit<CallHandlersDeps, 'reading'> &
  Omit<CallActionsDeps, 'reading'> &
  Parameters<typeof createReadRecording>[0] &
  Omit<Parameters<typeof createWatchCall>[0], 'reading'>;

/** Handlers of all call routes of an account. */
export function createCallHandlers(deps: CallViewsDeps): RouteHandlers<typeof callRoutes> {
  const shared = { ...deps, reading: createCallReading(deps) };
  return {
    ...createCallReadHandlers(shared),
    ...createCallActionHandlers(shared),
    watchCall: createWatchCall(shared),
    readRecording: createReadRecording(shared),
    readWaveform: createReadWaveform(shared),
  };
}
