import { useEffect, useState } from 'preact/hooks';
import type { WebhookAttempt } from '../../../webhooks/schemas.js';
import { usePortal } from '../session';
import { AttemptDetails } from './call/attempt-details';
import { Failure } from './feedback';
import { Table } from './pager';
import { Status, Time } from './values';
import { responseOf } from './webhooks/attempt-response';

/** Polling interval after a redelivery, and how long to poll. */
const READ_EVERY_MS = 1_000;
const WAIT_MS = 70_000;

interface AttemptsProps {
  callId: string;
  attempts: readonly WebhookAttempt[];
  final: boolean;
  onSent: () => void;
}

/** Lists the last delivery attempts of a call's event with their details, and a button to redeliver it. */
export function WebhookAttemptsTable(p: AttemptsProps) {
  const { redeliver, failure, isSending } = useRedelivery(p);
  const [opened, setOpened] = useState<number>();
  if (p.attempts.length === 0) {
    return (
      <p class="quiet">
        {p.final
          ? 'No webhook URL was set for this call.'
          : 'A webhook is sent when the call has ended, if the agent or the request has a webhook URL.'}
      </p>
    );
  }
  return (
    <>
      <Table
        label="Webhook attempts"
        head={['Sent', 'Outcome', 'Response', 'Duration', '']}
        numeric={['Duration']}
        cards
      >
        {p.attempts.map((attempt) => (
          <AttemptRow
            key={`${attempt.redelivery} ${attempt.number}`}
            attempt={attempt}
            isOpen={opened === attempt.number}
            onToggle={() => setOpened(opened === attempt.number ? undefined : attempt.number)}
          />
        ))}
      </Table>
      {opened === undefined ? null : <AttemptDetails callId={p.callId} number={opened} />}
      <Failure>{failure}</Failure>
      <p class="after-table">
        <button type="button" class="button" aria-disabled={isSending} onClick={() => void redeliver()}>
          {isSending ? 'Sending…' : 'Redeliver'}
        </button>
      </p>
    </>
  );
}

function AttemptRow(p: { attempt: WebhookAttempt; isOpen: boolean; onToggle: () => void }) {
  const { attempt } = p;
  return (
    <tr role="row">
      <td role="cell">
        <Time at={attempt.started_at} />
      </td>
      <td role="cell">
        <Status of={attempt.outcome ?? 'pending'} />
        {attempt.redelivery === 0 ? '' : <span class="quiet"> redelivery {attempt.redelivery}</span>}
      </td>
      <td role="cell">{responseOf(attempt)}</td>
      <td role="cell" class="number">
        {attempt.duration_ms === undefined ? '–' : `${Math.round(attempt.duration_ms)} ms`}
      </td>
      <td role="cell" class="number">
        <button
          type="button"
          class="button button-small"
          aria-expanded={p.isOpen}
          aria-label={`Request and response of attempt ${attempt.number}`}
          onClick={p.onToggle}
        >
          {p.isOpen ? 'Hide' : 'Details'}
        </button>
      </td>
    </tr>
  );
}

/** Starts redeliveries, and reads the call again until the attempt is known. */
function useRedelivery({ callId, attempts, onSent }: AttemptsProps) {
  const { api } = usePortal();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  /** Number of the last attempt before a redelivery; undefined when the page is not waiting for a redelivery. */
  const [sentAfter, setSentAfter] = useState<number>();
  const last = attempts.at(-1);
  const isWaiting = sentAfter !== undefined && ((last?.number ?? 0) <= sentAfter || last?.outcome === undefined);

  useEffect(() => {
    if (!isWaiting) return undefined;
    const reading = setInterval(onSent, READ_EVERY_MS);
    const giveUp = setTimeout(() => setSentAfter(undefined), WAIT_MS);
    return () => {
      clearInterval(reading);
      clearTimeout(giveUp);
    };
  }, [isWaiting]);

  async function redeliver(): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    try {
      await api.post(`/webhook_deliveries/${callId}/redeliver`);
      setSentAfter(last?.number ?? 0);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  return { redeliver, failure, isSending: busy || isWaiting };
}
