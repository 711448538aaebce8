import { setTimeout as sleep } from 'node:timers/promises';
import { isPassing, watchCall } from '../../sdk/watch-call.js';
import type { Call, TimelineEvent, Transcript } from '../../calls/views/schemas.js';
import { formatUsd, type Output } from '../output.js';
import { detailsText } from './calls.js';
import type { Service } from './service.js';

type Turn = Transcript['turns'][number];

const READ_TURNS_EVERY_MS = 2_000;
const TIME_WIDTH = 12;
const WHO_WIDTH = 8;

/** Prints every status, event and turn of a call, from its beginning until it has ended. */
export async function tailCall({ client }: Service, out: Output, callId: string): Promise<void> {
  const params = { call_id: callId };
  const told = new Set<string>();
  let turns = 0;

  function tellEvents(timeline: readonly TimelineEvent[]): void {
    for (const event of timeline) {
      const mark = JSON.stringify(event);
      if (told.has(mark)) continue;
      told.add(mark);
      const { at, source, event: name, details } = event;
      out.line({ type: 'event', ...event }, lineOf(at.slice(11, 23), source, `${name} ${detailsText(details)}`.trim()));
    }
  }

  async function tellTurns(): Promise<void> {
    const transcript = await client.get('/calls/{call_id}/transcript', { params });
    for (const turn of transcript.turns.slice(turns)) out.line({ type: 'turn', ...turn }, turnLine(turn));
    turns = Math.max(turns, transcript.turns.length);
  }

  // Turns cause no timeline event, so the transcript is polled.
  let talks = false;
  const ended = new AbortController();
  const listening = (async () => {
    while (!ended.signal.aborted) {
      await sleep(READ_TURNS_EVERY_MS, undefined, { signal: ended.signal }).catch(() => undefined);
      if (talks && !ended.signal.aborted) await tellTurns().catch(unlessPassing);
    }
  })();
  // The error is rethrown by `await listening` below.
  listening.catch(() => ended.abort());
  let call: Call | undefined;
  try {
    for await (call of watchCall(client, callId, ended.signal)) {
      // Print the last turns before the event of the end.
      if (talks && call.status !== 'IN_PROGRESS') await tellTurns();
      tellEvents(call.timeline);
      talks = call.status === 'IN_PROGRESS';
    }
  } finally {
    ended.abort();
    await listening;
  }
  if (call === undefined) return;
  await tellTurns();
  const last = await client.get('/calls/{call_id}', { params });
  tellEvents(last.timeline);
  out.line({ type: 'call', ...last }, endOf(last));
}

/** Ignores temporary errors; the next poll prints what is missing. */
function unlessPassing(error: unknown): void {
  if (!isPassing(error)) throw error;
}

function lineOf(time: string, who: string, what: string): string {
  return `${time.padStart(TIME_WIDTH)}  ${who.padEnd(WHO_WIDTH)} ${what}`;
}

/** The time is relative to the start of the audio, in seconds. */
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
