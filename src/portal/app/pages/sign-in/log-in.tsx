import { useLocation } from 'preact-iso';
import { Failure } from '../../components/feedback';
import { SubmitButton, TextField } from '../../components/fields';
import { usePortal } from '../../session';
import { useLogInRedirect } from './use-log-in-redirect';
import { useForm } from '../../use-form';
import { useSignUpOptions } from '../../use-sign-up-options';

export function LogInPage() {
  const { api, refresh } = usePortal();
  const { query } = useLocation();
  const options = useSignUpOptions();
  const send = async (values: { email: string; password: string }) => {
    await api.post('/portal/log-in', values);
    await refresh();
  };
  const form = useForm({ email: '', password: '' }, send, { isGuarded: false });
  useLogInRedirect('Log in', destination(query['to']));

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Log in to Callwright</h1>
      {options?.sign_up === 'open' ? (
        <p class="quiet">
          New here? <a href="/portal/sign-up">Create account</a>
        </p>
      ) : null}
      <Failure>{form.failure}</Failure>
      <TextField label="E-mail" type="email" autocomplete="username" {...form.field('email')} />
      <TextField label="Password" type="password" autocomplete="current-password" {...form.field('password')} />
      <SubmitButton busy={form.busy}>Log in</SubmitButton>
      <p class="door-after">
        <a href="/portal/forgot-password">Forgot password?</a>
      </p>
    </form>
  );
}

/** Returns the page to open after the log-in. Only portal paths are accepted, whatever the link contains. */
function destination(to: string | undefined): string {
  return to !== undefined && /^\/portal(\/|\?|$)/.test(to) ? to : '/portal';
}
