import type { Trace } from '../../../../calls/views/schemas.js';
import { duration as clock } from '../../format';
import { Code } from '../values';
import { milliseconds } from './latency/latency-shape';
import { prettyJson } from './pretty-json';

/** The tools that the agent used, each with what it was given and what it returned. */
export function ToolCallsSection({ calls, isFinal }: { calls: Trace['tool_calls']; isFinal: boolean }) {
  return (
    <section class="card" aria-label="Tool calls">
      <h2>Tool calls</h2>
      {calls.length === 0 ? (
        <p class="quiet">{isFinal ? 'The agent used no tools.' : 'The tools that the agent uses appear here.'}</p>
      ) : null}
      {calls.map((call, index) => (
        <details key={index} class="entry">
          <summary>
            <strong class="breakable">{call.name}</strong>{' '}
            <span class={`badge badge-${call.succeeded ? 'good' : 'bad'}`}>
              {call.succeeded ? 'Succeeded' : 'Failed'}
            </span>{' '}
            <span class="quiet">
              at {clock(call.at_ms / 1_000)} · {milliseconds(call.duration_ms)}
            </span>
          </summary>
          <Code text={prettyJson(call.arguments)} label="Request" />
          <Code text={prettyJson(call.result)} label="Response" />
        </details>
      ))}
    </section>
  );
}
