import { useState } from 'preact/hooks';
import type { WebhookAttempt } from '../../../contract/management/calls.js';
import { usePortal } from '../session';
import { Failure } from './feedback';
import { Table } from './pager';
import { Status, Time } from './values';

/** Every attempt to deliver a call's event, and the way to send it again. */
export function WebhookAttempts(p: {
  callId: string;
  attempts: readonly WebhookAttempt[];
  final: boolean;
  onSent: () => void;
}) {
  const { api } = usePortal();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);

  async function redeliver(): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    try {
      await api.post(`/webhook_deliveries/${p.callId}/redeliver`);
      p.onSent();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  if (p.attempts.length === 0) {
    return <p class="quiet">{p.final ? 'No webhook was asked for.' : 'It is sent when the call has ended.'}</p>;
  }
  return (
    <>
      <Table label="Webhook attempts" head={['Sent', 'Outcome', 'Answer', 'Time', 'Body']}>
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
        {busy ? 'Sending…' : 'Redeliver'}
      </button>
    </>
  );
}
