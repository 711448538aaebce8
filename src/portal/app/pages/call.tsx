import { useRoute } from 'preact-iso';
import { useEffect, useRef } from 'preact/hooks';
import type { Call, ConversationSoFar } from '../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../kernel/call-state.js';
import { CallActions } from '../components/call/actions';
import { RawCarrierEvents } from '../components/call/carrier-events';
import { CostWindows } from '../components/call/cost-windows';
import { ExtractedData } from '../components/call/extracted-data';
import { CallFigures, Facts } from '../components/call/facts';
import { LatencySection } from '../components/call/latency/latency-section';
import { Recording } from '../components/call/recording';
import { Timeline } from '../components/call/timeline';
import { ToolCallsSection } from '../components/call/tool-calls';
import { Turns } from '../components/call/turns';
import { useTrace, useTranscript } from '../components/call/use-conversation';
import { usePlayer } from '../components/call/use-player';
import { Loaded } from '../components/feedback';
import { WebhookAttemptsTable } from '../components/webhook-attempts';
import { partyName } from '../labels';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { NotInThisMode } from '../shell/old-link';
import { useCall } from '../use-call';
import { notFoundError } from '../use-data';

export function CallPage() {
  const { api, mode } = usePortal();
  const { params } = useRoute();
  const id = params['id'] ?? '';
  const call = useCall(api, mode, id);
  const notFound = notFoundError(call);
  return (
    <PageLayout
      title={titleOf(call.data)}
      actions={call.data === undefined ? null : <CallActions call={call.data} reload={call.reload} />}
    >
      {notFound === undefined ? (
        <Loaded of={call}>{(data) => <Sections call={data} live={call.conversation} reload={call.reload} />}</Loaded>
      ) : (
        <NotInThisMode what="call" path={`/calls/${encodeURIComponent(id)}`} error={notFound} />
      )}
    </PageLayout>
  );
}

function titleOf(call: Call | undefined): string {
  if (call === undefined) return 'Call';
  const [word, number] =
    call.call_direction === 'outbound' ? ['to', call.to_phone_number] : ['from', call.from_phone_number];
  return number === '' ? 'Call' : `Call ${word} ${partyName(number)}`;
}

interface SectionsProps {
  call: Call;
  live: ConversationSoFar | undefined;
  reload: () => void;
}

function Sections({ call, live, reload }: SectionsProps) {
  const player = usePlayer();
  const { transcript, turns, interim } = useTranscript(call, live);
  const trace = useTrace(call, turns.length);
  const isFinal = isFinalStatus(call.status);
  return (
    <>
      <section class="card" aria-label="Summary">
        <CallFigures call={call} />
        {call.summary === undefined ? null : <p class="call-summary breakable">{call.summary}</p>}
        <Facts call={call} />
      </section>
      {call.has_recording ? <Recording call={call} player={player} turns={turns} toolCalls={trace.tool_calls} /> : null}
      <div class="columns columns-wide">
        <section class="card" aria-label="Conversation">
          <h2>Conversation</h2>
          <Loaded of={transcript}>{() => <Turns call={call} turns={turns} interim={interim} player={player} />}</Loaded>
        </section>
        <div>
          <section class="card" aria-label="Extracted data">
            <h2>Extracted data</h2>
            <ExtractedData
              json={call.output_parameters ?? live?.output_parameters}
              none={isFinal ? 'No data was extracted.' : 'Values appear here as the caller gives them.'}
            />
          </section>
          <ToolCallsSection calls={trace.tool_calls} call={call} />
        </div>
      </div>
      <LatencySection
        latencies={trace.latencies}
        engine={call.engine}
        isFinal={isFinal}
        player={call.has_recording ? player : undefined}
      />
      <EngineRoom call={call} reload={reload} />
    </>
  );
}

/** Money, webhook and everything that happened. */
function EngineRoom({ call, reload }: Pick<SectionsProps, 'call' | 'reload'>) {
  const webhook = useRef<HTMLElement>(null);
  useEffect(() => {
    // The browser looks for the target of the link before the call is loaded.
    if (location.hash === '#webhook') webhook.current?.scrollIntoView();
  }, [call.call_id]);
  return (
    <>
      <section class="card" aria-label="Cost">
        <h2>Cost by window</h2>
        <CostWindows windows={call.cost_windows} />
      </section>
      <section class="card" aria-label="Webhook" id="webhook" ref={webhook}>
        <h2>Webhook</h2>
        <WebhookAttemptsTable
          callId={call.call_id}
          attempts={call.webhook_attempts}
          final={isFinalStatus(call.status)}
          onSent={reload}
        />
      </section>
      <section class="card" aria-label="Timeline">
        <h2>Timeline</h2>
        <Timeline events={call.timeline} />
        <RawCarrierEvents timeline={call.timeline} />
      </section>
    </>
  );
}
