import type { CallDocument } from '../../src/calls/call-model.js';
import type { Finding } from './checks.js';
import type { Step } from './deployment.js';
import type { Load } from './load.js';
import type { Shape } from './shape.js';

const SHOWN_FAULTS = 10;

/** Prints what happened and what did not hold. */
export function printReport(p: {
  shape: Shape;
  load: Load;
  steps: readonly Step[];
  findings: readonly Finding[];
  calls: readonly CallDocument[];
  /** Further lines. */
  notes?: readonly string[];
}): void {
  const { shape, load, steps, findings, calls, notes = [] } = p;
  const ends = countBy(calls.map(({ status, endReason }) => `${status} (${endReason})`));
  const moved = calls.filter(({ resumptions = 0 }) => resumptions > 0).length;
  const webhooks = [...shape.received.values()];
  const lines = [
    'Steps',
    ...steps.map(({ name, seconds, requests, calls: placed }) => {
      return `  ${String(seconds).padStart(4)} s  ${name}: ${requests} requests, ${placed} new calls`;
    }),
    'Calls',
    `  ${load.placed.length} placed, ${load.received.length} received, ${moved} moved to another media process`,
    ...[...ends].map(([end, count]) => `  ${String(count).padStart(4)}  ${end}`),
    `  ${webhooks.length} webhooks arrived, ${webhooks.filter((times) => times > 1).length} of them more than once`,
    'Requests',
    `  ${shape.client.requests()} sent, ${shape.client.failed.length} failed, ${shape.client.repeated.length} repeated`,
    ...shape.client.repeated.slice(0, SHOWN_FAULTS).map((each) => `  repeated: ${JSON.stringify(each)}`),
    ...notes,
    'Checks',
    ...findings.flatMap(({ statement, faults }) => [
      `  ${faults.length === 0 ? 'holds ' : 'BROKEN'}  ${statement}`,
      ...faults.slice(0, SHOWN_FAULTS).map((fault) => `            ${fault}`),
      ...(faults.length > SHOWN_FAULTS ? [`            and ${faults.length - SHOWN_FAULTS} more`] : []),
    ]),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
