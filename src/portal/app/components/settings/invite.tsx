import { useState } from 'preact/hooks';
import { usePortal } from '../../session';
import { useForm } from '../../use-form';
import { Failure } from '../feedback';
import { SelectField, SubmitButton, TextField } from '../fields';
import { Secret } from '../values';
import { ROLE_OPTIONS } from './roles';

/** Invites a person to the account. Shows the link of the invitation if the service sends no e-mail. */
export function Invite({ onInvited }: { onInvited: () => void }) {
  const { api } = usePortal();
  const [token, setToken] = useState<string>();
  const [sentTo, setSentTo] = useState<string>();
  const form = useForm({ email: '', role: 'developer' }, async (values) => {
    const created = await api.post<{ token?: string }>('/portal/invitations', values);
    setToken(created.token);
    setSentTo(created.token === undefined ? values.email : undefined);
    form.reset({ email: '' });
    onInvited();
  });
  return (
    <form onSubmit={(event) => void form.submit(event)} noValidate>
      <p />
      <Failure>{form.failure}</Failure>
      {token === undefined ? null : (
        <Secret
          value={`${location.origin}/portal/accept-invitation#token=${token}`}
          what="Link for the person you invite"
        />
      )}
      <div class="columns">
        <TextField label="E-mail" type="email" {...form.field('email')} />
        <SelectField label="Role" options={ROLE_OPTIONS} {...form.field('role')} />
      </div>
      <SubmitButton busy={form.busy}>Send invitation</SubmitButton>{' '}
      <span role="status">{sentTo === undefined ? '' : `Invitation sent to ${sentTo}.`}</span>
    </form>
  );
}
