import { useState } from 'preact/hooks';
import { Failure } from '../../components/feedback';
import { SubmitButton, TextField } from '../../components/fields';
import { usePortal } from '../../session';
import { useForm } from '../../use-form';
import { useSignUpOptions } from '../../use-sign-up-options';
import { useTitle } from '../../use-title';

export function ForgotPasswordPage() {
  const { api } = usePortal();
  const options = useSignUpOptions();
  const [sentTo, setSentTo] = useState<string>();
  const form = useForm({ email: '' }, async (values) => {
    await api.post('/portal/forgot-password', values);
    setSentTo(values.email.trim());
  });
  useTitle(sentTo === undefined ? 'Forgot password?' : 'Check your e-mail');

  if (sentTo !== undefined) {
    return (
      <section class="card" role="status">
        <h1>Check your e-mail</h1>
        <p>If {sentTo} has an account, we sent a link to choose a new password. The link is valid for 30 minutes.</p>
        <a href="/portal/log-in">Back to log in</a>
      </section>
    );
  }
  if (options?.sends_email === false) {
    return (
      <section class="card">
        <h1>Forgot password?</h1>
        <p>This service does not send e-mail. Ask its operator for a link to choose a new password.</p>
        <a href="/portal/log-in">Back to log in</a>
      </section>
    );
  }
  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Forgot password?</h1>
      <p class="quiet">Enter your e-mail address and we will send you a link to choose a new password.</p>
      <Failure>{form.failure}</Failure>
      <TextField label="E-mail" type="email" autocomplete="username" {...form.field('email')} />
      <SubmitButton busy={form.busy}>Send link</SubmitButton>
      <p class="door-after">
        <a href="/portal/log-in">Back to log in</a>
      </p>
    </form>
  );
}
