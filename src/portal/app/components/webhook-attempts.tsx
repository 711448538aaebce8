import { useEffect, useState } from 'preact/hooks';
import type { WebhookAttempt } from '../../../webhooks/schemas.js';
import { usePortal } from '../session';
import { Failure } from './feedback';
import { Table } from './pager';
import { Status, Time } from './values';

/** Polling interval after a redelivery, and how long to poll. */
const READ_EVERY_MS = 1_000;
const WAIT_MS = 70_000;

/** Lists the last delivery attempts of a call's event, with a button to redeliver it. */
export function WebhookAttemptsTable(p: {
  callId: string;
  attempts: readonly WebhookAttempt[];
  final: boolean;
  onSent: () => void;
}) {
  const { api } = usePortal();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  /** Number of the last attempt before a redelivery; undefined when the page is not waiting for a redelivery. */
  const [sentAfter, setSentAfter] = useState<number>();
  const last = p.attempts.at(-1);
  const isWaiting = sentAfter !== undefined && ((last?.number ?? 0) <= sentAfter || last?.outcome === undefined);

  useEffect(() => {
    if (!isWaiting) return undefined;
    const reading = setInterval(p.onSent, READ_EVERY_MS);
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
      await api.post(`/webhook_deliveries/${p.callId}/redeliver`);
      setSentAfter(last?.number ?? 0);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  if (p.attempts.length === 0) {
    return (
      <p class="quiet">
        {p.final ? 'No webhook URL was set for this call.' : 'The webhook is sent when the call has ended.'}
      </p>
    );
  }
  return (
    <>
      <Table label="Webhook attempts" head={['Sent', 'Outcome', 'Response', 'Duration', 'Body']} numeric={['Duration']}>
        {p.attempts.map((attempt) => (
          <tr key={`${attempt.redelivery} ${attempt.number}`}>
            <td>
              <Time at={attempt.started_at} />
            </td>
            <td>
              <Status of={attempt.outcome ?? 'pending'} />
              {attempt.redelivery === 0 ? '' : <span class="quiet"> redelivery {attempt.redelivery}</span>}
            </td>
            <td>{attempt.http_status ?? attempt.error ?? '–'}</td>
            <td class="number">{attempt.duration_ms === undefined ? '–' : `${Math.round(attempt.duration_ms)} ms`}</td>
            <td class="wide mono">{attempt.response_body ?? ''}</td>
          </tr>
        ))}
      </Table>
      <Failure>{failure}</Failure>
      <p />
      <button type="button" class="button" aria-disabled={busy} onClick={() => void redeliver()}>
        {busy || isWaiting ? 'Sending…' : 'Redeliver'}
      </button>
    </>
  );
}
