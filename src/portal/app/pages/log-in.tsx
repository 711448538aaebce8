import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { Failure } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { usePortal } from '../session';
import { useForm } from '../use-form';

export function LogIn() {
  const { api, refresh, session } = usePortal();
  const { query, route } = useLocation();
  const form = useForm({ email: '', password: '' }, async (values) => {
    await api.post('/portal/log-in', values);
    await refresh();
  });

  useEffect(() => {
    document.title = 'Log in · Callwright';
    if (session !== undefined) route(destination(query['to']), true);
  }, [session]);

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Log in to Callwright</h1>
      <p class="quiet">
        New here? <a href="/portal/sign-up">Make an account</a>
      </p>
      <Failure>{form.failure}</Failure>
      <TextField label="E-mail" type="email" autocomplete="username" {...form.field('email')} />
      <TextField label="Password" type="password" autocomplete="current-password" {...form.field('password')} />
      <SubmitButton busy={form.busy}>Log in</SubmitButton>
    </form>
  );
}

/** Back to the page one came from: only to one of the portal's, whatever the link says. */
function destination(to: string | undefined): string {
  return to !== undefined && /^\/portal(\/|\?|$)/.test(to) ? to : '/portal';
}
