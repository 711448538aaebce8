import { useEffect } from 'preact/hooks';
import type { Call, Trace } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { usePortal } from '../../session';
import { useData } from '../../use-data';

const READ_EVERY_MS = 2_000;
const NO_TRACE: Pick<Trace, 'latencies' | 'tool_calls'> = { latencies: [], tool_calls: [] };

/** Loads what the engine did in a call, every two seconds while the call is in progress, and once more at its end. */
export function useLiveTrace(call: Call): Pick<Trace, 'latencies' | 'tool_calls'> {
  const { api, mode } = usePortal();
  const trace = useData(`${mode} ${call.call_id}`, (signal) =>
    api.get<Trace>(`/calls/${call.call_id}/trace`, {}, signal),
  );
  const isFinal = isFinalStatus(call.status);
  useEffect(() => {
    const timer = isFinal ? setTimeout(trace.reload, READ_EVERY_MS) : setInterval(trace.reload, READ_EVERY_MS);
    return () => clearTimeout(timer);
  }, [isFinal]);
  return trace.data ?? NO_TRACE;
}
