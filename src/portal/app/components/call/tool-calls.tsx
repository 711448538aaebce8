import type { Call, Trace } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { keptBy } from '../../../../kernel/conversation/storage.js';
import { duration as clock } from '../../format';
import { Code } from '../values';
import { milliseconds } from './latency/latency-shape';
import { prettyJson } from './pretty-json';

/** The tools that the agent used, each with what it was given and what it returned. */
export function ToolCallsSection({ calls, call }: { calls: Trace['tool_calls']; call: Call }) {
  return (
    <section class="card" aria-label="Tool calls">
      <h2>Tool calls</h2>
      {calls.length === 0 ? <p class="quiet">{whyNone(call)}</p> : null}
      {calls.map((use, index) => (
        <details key={index} class="entry">
          <summary>
            <strong class="breakable">{use.name}</strong>{' '}
            <span class={`badge badge-${use.succeeded ? 'good' : 'bad'}`}>
              {use.succeeded ? 'Succeeded' : 'Failed'}
            </span>{' '}
            <span class="quiet">
              at {clock(use.at_ms / 1_000)} · {milliseconds(use.duration_ms)}
            </span>
          </summary>
          <Code text={prettyJson(use.arguments)} label="Request" />
          <Code text={prettyJson(use.result)} label="Response" />
        </details>
      ))}
    </section>
  );
}

function whyNone({ status, storage }: Call): string {
  if (!isFinalStatus(status)) return 'The tools that the agent uses appear here.';
  return keptBy(storage).words ? 'The agent used no tools.' : 'This agent keeps no tool calls.';
}
