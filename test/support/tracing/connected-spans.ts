import type { ReceivedSpan } from './collector-stub';

/** A call ends while this activity waits for its next window, so the span of its start never ends (docs/adr/0047). */
const NEVER_ENDED = 'RunActivity:extendHold';

/** Returns the spans whose parent did not arrive. */
export function spansWithoutParent(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parentId }) => parentId !== '' && !ids.has(parentId));
}

/**
 * Returns why the spans of a trace are not one tree.
 * @param spans all spans of one trace
 */
export function treeFaults(spans: readonly ReceivedSpan[]): string[] {
  const first = spans.filter(({ parentId }) => parentId === '');
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return [
    ...spansWithoutParent(spans).flatMap(({ name }) =>
      name === NEVER_ENDED ? [] : [`the parent of ${name} is missing`],
    ),
    ...(first.length === 1 ? [] : [`${first.length} first spans: ${first.map(({ name }) => name).join(', ')}`]),
    ...(ids.size === spans.length ? [] : [`${spans.length - ids.size} spans arrived twice`]),
  ];
}

/** Returns the call that a span says it belongs to. */
export function callIdOf({ attributes }: ReceivedSpan): string | undefined {
  return attributes['callwright.call_id'] ?? attributes['temporalWorkflowId'];
}
