import { useState } from 'preact/hooks';
import { Failure } from '../components/feedback';
import { SubmitButton } from '../components/fields';
import { usePortal } from '../session';
import { useForm } from '../use-form';
import { useLinkToken } from '../use-link-token';
import { useTitle } from '../use-title';

/** Where the link of a verification leads. It takes a click, since mail filters open links. */
export function VerifyEmail() {
  const { api, session, refresh } = usePortal();
  const token = useLinkToken();
  const [verified, setVerified] = useState(false);
  const form = useForm({}, async () => {
    await api.post('/portal/verify-email', { token });
    setVerified(true);
    if (session !== undefined) await refresh().catch(() => undefined);
  });
  useTitle(verified ? 'E-mail verified' : 'Verify your e-mail address');

  if (verified) {
    return (
      <section class="card" role="status">
        <h1>E-mail verified</h1>
        <p>Your account has its full limits now.</p>
        <a class="button button-main" href={session === undefined ? '/portal/log-in' : '/portal'}>
          {session === undefined ? 'Log in' : 'Continue'}
        </a>
      </section>
    );
  }
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Verify your e-mail address</h1>
      <p class="quiet">Only go on if you signed up for Callwright yourself.</p>
      <Failure>{form.failure}</Failure>
      <SubmitButton busy={form.busy}>Verify</SubmitButton>
    </form>
  );
}
