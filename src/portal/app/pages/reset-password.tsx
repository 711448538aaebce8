import { useState } from 'preact/hooks';
import { Failure } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { usePortal } from '../session';
import { useForm } from '../use-form';
import { useLinkToken } from '../use-link-token';
import { useTitle } from '../use-title';

/** Where the link of a password reset leads. */
export function ResetPassword() {
  const { api, forget } = usePortal();
  const token = useLinkToken();
  const [changed, setChanged] = useState(false);
  const form = useForm({ new_password: '' }, async (values) => {
    await api.post('/portal/reset-password', { token, ...values });
    forget();
    setChanged(true);
  });
  useTitle('Choose a new password');

  if (changed) {
    return (
      <section class="card" role="status">
        <h1>Password changed</h1>
        <p>You are logged out everywhere. Log in with your new password.</p>
        <p>API keys stay valid: if somebody else knew the old password, revoke the keys that you do not know.</p>
        <a class="button button-main" href="/portal/log-in">
          Log in
        </a>
      </section>
    );
  }
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Choose a new password</h1>
      <Failure>{form.failure}</Failure>
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        hint="At least 12 characters."
        {...form.field('new_password')}
      />
      <SubmitButton busy={form.busy}>Change password</SubmitButton>
      <p />
      <a href="/portal/forgot-password">Send a new link</a>
    </form>
  );
}
