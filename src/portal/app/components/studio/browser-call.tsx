import type { Call } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { duration, formatDollars } from '../../format';
import { Conversation } from '../../pages/call-conversation';
import { usePortal } from '../../session';
import { useCall } from '../../use-call';
import { ExtractedData } from '../call/extracted-data';
import { LatencySection } from '../call/latency/latency-section';
import { ToolCallsSection } from '../call/tool-calls';
import { CostSoFar } from '../cost-so-far';
import { Failure } from '../feedback';
import { Status } from '../values';
import { KillProcess } from './kill-process';
import { useLiveTrace } from './live-trace';

/** Shows a call in the browser while it happens: words, values, cost, response times and tools. */
export function BrowserCall({ callId }: { callId: string }) {
  const { api, mode, to } = usePortal();
  const { conversation, ...call } = useCall(api, mode, callId);
  if (call.state === 'failed') return <Failure>{call.error.message}</Failure>;
  if (call.data === undefined) return null;
  const values = call.data.output_parameters ?? conversation?.output_parameters ?? '{}';
  return (
    <>
      <section class="card" aria-label="Conversation">
        <div class="card-head">
          <h2>Conversation</h2>
          {/* In its own tab, because leaving this page ends the call and loses what is not saved. */}
          <a class="button button-small" href={to(`/calls/${callId}`)} target="_blank" rel="noreferrer">
            View call <span class="unseen">(in a new tab)</span>
          </a>
        </div>
        <Facts call={call.data} />
        <KillProcess call={call.data} />
        <Conversation call={call.data} live={conversation} />
      </section>
      {values === '{}' ? null : (
        <section class="card" aria-label="Extracted data">
          <h2>Extracted data</h2>
          <ExtractedData json={values} none="" />
        </section>
      )}
      <EngineWork call={call.data} />
    </>
  );
}

function Facts({ call }: { call: Call }) {
  const { duration_seconds, cost } = call;
  return (
    <div class="live-facts">
      <Status of={call.status} />
      <span>
        {duration_seconds === undefined ? (
          <CostSoFar call={call} />
        ) : (
          `${duration(duration_seconds)}${cost === undefined ? '' : ` · ${formatDollars(cost)}`}`
        )}
      </span>
    </div>
  );
}

function EngineWork({ call }: { call: Call }) {
  const { latencies, tool_calls: calls } = useLiveTrace(call);
  const isFinal = isFinalStatus(call.status);
  return (
    <>
      {calls.length === 0 ? null : <ToolCallsSection calls={calls} call={call} />}
      {latencies.length === 0 ? null : (
        <LatencySection latencies={latencies} engine={call.engine} isFinal={isFinal} player={undefined} />
      )}
    </>
  );
}
