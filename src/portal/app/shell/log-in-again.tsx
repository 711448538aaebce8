import { useState } from 'preact/hooks';
import type { PortalSession } from '../../../identity/sign-in/schemas.js';
import type { Api } from '../api';
import { Dialog } from '../components/dialog';
import { Failure } from '../components/feedback';
import { SubmitButton, TextField } from '../components/fields';
import { useForm } from '../use-form';

/** Asks for the password in place, after the session has ended. The page stays as it is. */
export function LogInAgain(p: {
  api: Api;
  email: string;
  onLogIn: (session: PortalSession) => void;
  onLogOut: () => void;
}) {
  const form = useForm(
    { password: '' },
    async ({ password }) => p.onLogIn(await p.api.post<PortalSession>('/portal/log-in', { email: p.email, password })),
    { isGuarded: false },
  );
  const [isLeaving, setLeaving] = useState(false);
  return (
    <Dialog title="Log in again">
      <form onSubmit={(event) => void form.submit(event)} noValidate>
        <p>Your session has ended. Everything on this page stays as it is.</p>
        <Failure>{form.failure}</Failure>
        <input type="hidden" name="email" autocomplete="username" value={p.email} />
        <TextField
          label={`Password of ${p.email}`}
          type="password"
          autocomplete="current-password"
          {...form.field('password')}
        />
        <div class="actions">
          <SubmitButton busy={form.busy}>Log in</SubmitButton>
          <button type="button" class="button" onClick={() => (isLeaving ? p.onLogOut() : setLeaving(true))}>
            {isLeaving ? 'Leave and lose unsaved input' : 'Log in as somebody else'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
