import { useState } from 'preact/hooks';
import { Failure } from '../../components/feedback';
import { SubmitButton, TextField } from '../../components/fields';
import { ApiError } from '../../api';
import { usePortal } from '../../session';
import { useForm } from '../../use-form';
import { useLinkToken } from './use-link-token';
import { useTitle } from '../../use-title';

/**
 * The page that a verification link opens. Verifying also needs the session or the password of the sign-up. Otherwise
 * the owner of an address could verify an account that someone else created with it.
 */
export function VerifyEmailPage() {
  const { api, session, refresh } = usePortal();
  const token = useLinkToken();
  const [verified, setVerified] = useState(false);
  const [asksPassword, setAsksPassword] = useState(session?.member.email_verified !== false);
  const form = useForm({ password: '' }, async ({ password }) => {
    try {
      await api.post('/portal/verify-email', { token, ...(asksPassword ? { password } : {}) });
    } catch (error) {
      // The browser's session belongs to another sign-up, so ask for the password.
      if (error instanceof ApiError && 'password' in error.fields) setAsksPassword(true);
      throw error;
    }
    setVerified(true);
    if (session !== undefined) await refresh().catch(() => undefined);
  });
  useTitle(verified ? 'E-mail verified' : 'Verify your e-mail address');

  if (verified) {
    return (
      <section class="card" role="status">
        <h1>E-mail verified</h1>
        <p>Your account now has its full limits.</p>
        <a class="button button-main" href={session === undefined ? '/portal/log-in' : '/portal'}>
          {session === undefined ? 'Log in' : 'Continue'}
        </a>
      </section>
    );
  }
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Verify your e-mail address</h1>
      <p class="quiet">
        Continue only if you signed up for Callwright yourself.
        {asksPassword ? ' Enter the password that you signed up with.' : ''}
      </p>
      <Failure>{form.failure}</Failure>
      {asksPassword ? (
        <TextField label="Password" type="password" autocomplete="current-password" {...form.field('password')} />
      ) : null}
      <SubmitButton busy={form.busy}>Verify</SubmitButton>
    </form>
  );
}
