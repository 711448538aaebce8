import { useState } from 'preact/hooks';
import { usePortal } from '../session';

/** Sends the link that verifies the own address once more. */
export function SendAgain() {
  const { api } = usePortal();
  const [answer, setAnswer] = useState('');
  const send = () =>
    void api.post('/portal/verification-email').then(
      () => setAnswer('Sent.'),
      (error: Error) => setAnswer(error.message),
    );
  return (
    <>
      <button type="button" class="button button-small" onClick={send}>
        Send again
      </button>{' '}
      <span role="status">{answer}</span>
    </>
  );
}

export function VerificationBanner() {
  const { session } = usePortal();
  if (session === undefined || session.member.email_verified) return null;
  return (
    <aside class="test-banner" aria-label="Verification">
      Verify your e-mail address: we sent a link to {session.member.email}. <SendAgain />
    </aside>
  );
}
