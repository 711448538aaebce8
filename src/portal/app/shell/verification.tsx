import { useState } from 'preact/hooks';
import { SmallButton } from '../components/buttons';
import { usePortal } from '../session';
import { useSignUpOptions } from '../use-sign-up-options';

/** Resends the member's verification email. */
export function SendAgain() {
  const { api } = usePortal();
  const [result, setResult] = useState('');
  const send = () =>
    void api.post('/portal/verification-email').then(
      () => setResult('Sent.'),
      (error: Error) => setResult(error.message),
    );
  return (
    <>
      <SmallButton onClick={send}>Send again</SmallButton> <span role="status">{result}</span>
    </>
  );
}

export function VerificationBanner() {
  const { session } = usePortal();
  if (session === undefined || session.member.email_verified) return null;
  return <UnverifiedBanner email={session.member.email} />;
}

function UnverifiedBanner({ email }: { email: string }) {
  const options = useSignUpOptions();
  if (options === undefined) return null;
  return (
    <aside class="test-banner" aria-label="Verification">
      {options.sends_email ? (
        <>
          Verify your e-mail address: we sent a link to {email}. <SendAgain />
        </>
      ) : (
        `Your e-mail address ${email} is not verified. Ask the operator of this service for a link.`
      )}
    </aside>
  );
}
