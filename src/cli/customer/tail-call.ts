import { setTimeout as sleep } from 'node:timers/promises';
import { isTemporaryFailure, watchCall } from '../../sdk/watch-call.js';
import type { Call, TimelineEvent, Transcript } from '../../calls/views/schemas.js';
import { formatUsd, type Output } from '../output.js';
import { detailsText } from './calls.js';
import type { Service } from './service.js';

type Turn = Transcript['turns'][number];

const READ_TURNS_EVERY_MS = 2_000;
const TIME_WIDTH = 12;
const WHO_WIDTH = 8;

/** Prints every status, event and turn of a call, from the start of the call until it has ended. */
export async function tailCall({ client }: Service, out: Output, callId: string): Promise<void> {
  const params = { call_id: callId };
  const printed = new Set<string>();
  const saidTurns = createUnprintedTurns();

  function printEvents(timeline: readonly TimelineEvent[]): void {
    for (const event of timeline) {
      const mark = JSON.stringify(event);
      if (printed.has(mark)) continue;
      printed.add(mark);
      const { at, source, event: name, details } = event;
      out.line({ type: 'event', ...event }, lineOf(at.slice(11, 23), source, `${name} ${detailsText(details)}`.trim()));
    }
  }

  async function printTurns(): Promise<void> {
    const transcript = await client.get('/calls/{call_id}/transcript', { params });
    for (const turn of saidTurns(transcript.turns)) out.line({ type: 'turn', ...turn }, turnLine(turn));
  }

  // New turns cause no timeline event, so poll the transcript.
  let isTalking = false;
  const ended = new AbortController();
  const listening = (async () => {
    while (!ended.signal.aborted) {
      await sleep(READ_TURNS_EVERY_MS, undefined, { signal: ended.signal }).catch(() => undefined);
      if (isTalking && !ended.signal.aborted) await printTurns().catch(unlessPassing);
    }
  })();
  // `await listening` below rethrows the error.
  listening.catch(() => ended.abort());
  let call: Call | undefined;
  try {
    for await (call of watchCall(client, callId, ended.signal)) {
      // Print the last turns before the event that reports the end.
      if (isTalking && call.status !== 'IN_PROGRESS') await printTurns();
      printEvents(call.timeline);
      isTalking = call.status === 'IN_PROGRESS';
    }
  } finally {
    ended.abort();
    await listening;
  }
  if (call === undefined) return;
  await printTurns();
  const last = await client.get('/calls/{call_id}', { params });
  printEvents(last.timeline);
  out.line({ type: 'call', ...last }, endOf(last));
}

/** Creates a function that returns the turns that it has not returned before: a late one may precede others. */
export function createUnprintedTurns(): (turns: readonly Turn[]) => Turn[] {
  const printed = new Set<string>();
  return (turns) =>
    turns.filter(({ start_ms: startMs, speaker }) => {
      const turn = `${startMs} ${speaker}`;
      const isNew = !printed.has(turn);
      printed.add(turn);
      return isNew;
    });
}

/** Ignores temporary errors, because the next poll prints what is missing. Throws other errors. */
function unlessPassing(error: unknown): void {
  if (!isTemporaryFailure(error)) throw error;
}

function lineOf(time: string, who: string, what: string): string {
  return `${time.padStart(TIME_WIDTH)}  ${who.padEnd(WHO_WIDTH)} ${what}`;
}

/** Formats a turn. Its time is in seconds from the start of the audio. */
function turnLine({ start_ms, speaker, text }: Turn): string {
  return lineOf(`+${(start_ms / 1_000).toFixed(1)} s`, speaker, text);
}

function endOf({ status, end_reason, duration_seconds, cost_micros, summary, output_parameters }: Call): string {
  const parts = [
    end_reason === undefined ? status : `${status} (${end_reason})`,
    ...(duration_seconds === undefined ? [] : [`${duration_seconds} s`]),
    ...(cost_micros === undefined ? [] : [`${formatUsd(cost_micros)} USD`]),
  ];
  return [parts.join(', '), ...(summary ? [summary] : []), ...(output_parameters ? [output_parameters] : [])].join(
    '\n',
  );
}
