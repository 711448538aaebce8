import { useLocation } from 'preact-iso';
import { Failure } from '../../components/feedback';
import { NewPasswordField, SubmitButton, TextField } from '../../components/fields';
import { usePortal } from '../../session';
import { useLogInRedirect } from './use-log-in-redirect';
import { useForm } from '../../use-form';
import { useLinkToken } from './use-link-token';

/** The page that an invitation link opens. */
export function AcceptInvitationPage() {
  const { api, refresh } = usePortal();
  const { query } = useLocation();
  const linked = useLinkToken();
  const form = useForm({ token: linked || (query['token'] ?? ''), name: '', password: '' }, async (values) => {
    await api.post('/portal/accept-invitation', values);
    await refresh();
  });
  useLogInRedirect('Join');

  return (
    <form class="card" onSubmit={(event) => void form.submit(event)} noValidate>
      <h1>Accept invitation</h1>
      <Failure>{form.failure}</Failure>
      <TextField label="Invitation" hint="The token from your invitation." {...form.field('token')} />
      <TextField label="Your name" autocomplete="name" {...form.field('name')} />
      <NewPasswordField label="Password" {...form.field('password')} />
      <SubmitButton busy={form.busy}>Accept invitation</SubmitButton>
    </form>
  );
}
