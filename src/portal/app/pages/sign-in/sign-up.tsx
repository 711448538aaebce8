import { Failure } from '../../components/feedback';
import { NewPasswordField, SubmitButton, TextField } from '../../components/fields';
import { usePortal } from '../../session';
import { useLogInRedirect } from './use-log-in-redirect';
import { useForm } from '../../use-form';
import { useSignUpOptions } from '../../use-sign-up-options';

export function SignUpPage() {
  const { api, session, refresh } = usePortal();
  const options = useSignUpOptions();
  const form = useForm({ account_name: '', name: '', email: '', password: '' }, async (values) => {
    await api.post('/portal/sign-up', values);
    await refresh();
  });
  useLogInRedirect('Sign up', session?.member.email_verified === false ? '/portal/check-email' : '/portal');

  if (options !== undefined && options.sign_up !== 'open') {
    return (
      <section class="card">
        <h1>Sign-up is closed</h1>
        <p>
          {options.sign_up === 'invite'
            ? 'Ask a member of the account to invite you.'
            : 'Ask the operator of this service.'}
        </p>
        <a href="/portal/log-in">Back to log in</a>
      </section>
    );
  }

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Create your account</h1>
      <p class="quiet">
        Already have an account? <a href="/portal/log-in">Log in</a>
      </p>
      <Failure>{form.failure}</Failure>
      <TextField label="Account name" autocomplete="organization" {...form.field('account_name')} />
      <TextField label="Your name" autocomplete="name" {...form.field('name')} />
      <TextField label="E-mail" type="email" autocomplete="username" {...form.field('email')} />
      <NewPasswordField label="Password" {...form.field('password')} />
      <SubmitButton busy={form.busy}>Create account</SubmitButton>
    </form>
  );
}
