import { useState } from 'preact/hooks';
import type { PasswordChanged } from '../../../../identity/sign-in/schemas.js';
import { Failure } from '../../components/feedback';
import { CheckField, NewPasswordField, SubmitButton } from '../../components/fields';
import { usePortal } from '../../session';
import { useForm } from '../../use-form';
import { useLinkToken } from './use-link-token';
import { useTitle } from '../../use-title';

/** The page that a password reset link opens. */
export function ResetPasswordPage() {
  const { api, forget } = usePortal();
  const token = useLinkToken();
  const [changed, setChanged] = useState(false);
  const [activeKeys, setActiveKeys] = useState(0);
  const form = useForm({ new_password: '', revoke_api_keys: false }, async (values) => {
    const changed = await api.post<PasswordChanged>('/portal/reset-password', { token, ...values });
    forget();
    setActiveKeys(changed.active_api_keys);
    setChanged(true);
  });
  useTitle('Choose a new password');

  if (changed) {
    return (
      <section class="card" role="status">
        <h1>Password changed</h1>
        <p>You have been logged out on all devices. Log in with your new password.</p>
        {activeKeys === 0 ? null : (
          <p>
            API keys you created that are still active: {activeKeys}. If somebody else knew the old password, revoke the
            keys that you do not recognize.
          </p>
        )}
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
      <NewPasswordField label="New password" {...form.field('new_password')} />
      <CheckField
        label="Revoke the API keys that I created"
        hint="A person with the old password may have created keys. Applications that use them stop working immediately."
        {...form.field('revoke_api_keys')}
      />
      <SubmitButton busy={form.busy}>Change password</SubmitButton>
      <p class="door-after">
        <a href="/portal/forgot-password">Request a new link</a>
      </p>
    </form>
  );
}
