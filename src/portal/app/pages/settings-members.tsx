import { useState } from 'preact/hooks';
import type { Invitation, Member } from '../../../identity/sign-in/schemas.js';
import { Failure, Loaded } from '../components/feedback';
import { SelectField, SubmitButton, TextField } from '../components/fields';
import { Table } from '../components/pager';
import { Secret, Time } from '../components/values';
import { usePortal } from '../session';
import type { PageOf } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

const ROLES = [
  { value: 'owner', label: 'Owner: everything' },
  { value: 'developer', label: 'Developer: all but members, keys and the account' },
  { value: 'viewer', label: 'Viewer: reads' },
];

/** Who may come in, and who was asked to. */
export function Members() {
  const { api, session } = usePortal();
  const isOwner = session?.member.role === 'owner';
  const [failure, setFailure] = useState<string>();
  const people = useData('members', async (signal) => {
    const members = await api.get<PageOf<Member>>('/portal/members', {}, signal);
    const invitations = isOwner
      ? await api.get<PageOf<Invitation>>('/portal/invitations', {}, signal)
      : { data: [] as Invitation[] };
    return { members: members.data, invitations: invitations.data };
  });
  const act = (doing: Promise<unknown>) => {
    setFailure(undefined);
    doing.then(people.reload, (error: Error) => setFailure(error.message));
  };

  return (
    <section class="card" aria-label="Members">
      <h2>Members</h2>
      <Failure>{failure}</Failure>
      <Loaded of={people}>
        {({ members, invitations }) => (
          <Table label="Members and invitations" head={['Name', 'E-mail', 'Role', 'Since', '']}>
            {members.map((member) => (
              <tr key={member.user_id}>
                <td>{member.name}</td>
                <td>
                  {member.email}
                  {member.email_verified ? null : <span class="quiet"> (not verified)</span>}
                </td>
                <td>
                  {isOwner ? (
                    <select
                      aria-label={`Role of ${member.email}`}
                      value={member.role}
                      onChange={(event) =>
                        act(api.patch(`/portal/members/${member.user_id}`, { role: event.currentTarget.value }))
                      }
                    >
                      {ROLES.map(({ value }) => (
                        <option key={value} value={value}>
                          {value}
                        </option>
                      ))}
                    </select>
                  ) : (
                    member.role
                  )}
                </td>
                <td>
                  <Time at={member.created_at} />
                </td>
                <td>
                  {isOwner && member.user_id !== session?.member.user_id ? (
                    <button
                      type="button"
                      class="button button-small"
                      aria-label={`Remove ${member.email}`}
                      onClick={() => act(api.delete(`/portal/members/${member.user_id}`))}
                    >
                      Remove
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
            {invitations.map((invitation) => (
              <tr key={invitation.invitation_id}>
                <td class="quiet">invited</td>
                <td>{invitation.email}</td>
                <td>{invitation.role}</td>
                <td>
                  until <Time at={invitation.expires_at} />
                </td>
                <td>
                  <button
                    type="button"
                    class="button button-small"
                    aria-label={`Withdraw the invitation of ${invitation.email}`}
                    onClick={() => act(api.delete(`/portal/invitations/${invitation.invitation_id}`))}
                  >
                    Withdraw
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Loaded>
      {isOwner ? <Invite onInvited={people.reload} /> : null}
    </section>
  );
}

function Invite({ onInvited }: { onInvited: () => void }) {
  const { api } = usePortal();
  const [token, setToken] = useState<string>();
  const [sentTo, setSentTo] = useState<string>();
  const form = useForm({ email: '', role: 'developer' }, async (values) => {
    const made = await api.post<{ token?: string }>('/portal/invitations', values);
    setToken(made.token);
    setSentTo(made.token === undefined ? values.email : undefined);
    form.set({ email: '' });
    onInvited();
  });
  return (
    <form onSubmit={(event) => void form.submit(event)} noValidate>
      <p />
      <Failure>{form.failure}</Failure>
      {token === undefined ? null : (
        <Secret
          value={`${location.origin}/portal/accept-invitation#token=${token}`}
          what="Send this link to the person."
        />
      )}
      <div class="columns">
        <TextField label="E-mail of somebody to invite" type="email" {...form.field('email')} />
        <SelectField label="As" options={ROLES} {...form.field('role')} />
      </div>
      <SubmitButton busy={form.busy}>Invite</SubmitButton>{' '}
      <span role="status">{sentTo === undefined ? '' : `Invitation sent to ${sentTo}.`}</span>
    </form>
  );
}
