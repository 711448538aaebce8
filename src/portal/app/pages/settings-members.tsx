import { useState } from 'preact/hooks';
import type { Invitation, Member } from '../../../identity/sign-in/schemas.js';
import { Confirm } from '../components/dialog';
import { Failure, Loaded } from '../components/feedback';
import { SelectField, SubmitButton, TextField } from '../components/fields';
import { Table } from '../components/pager';
import { Secret, Time } from '../components/values';
import { labelOf } from '../labels';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useForm } from '../use-form';

const ROLES = [
  { value: 'owner', label: 'Owner: full access' },
  { value: 'developer', label: 'Developer: everything except members, keys and the account' },
  { value: 'viewer', label: 'Viewer: read only' },
];

/** Lists members and pending invitations. */
export function MembersSection() {
  const { api, session } = usePortal();
  const isOwner = session?.member.role === 'owner';
  const [failure, setFailure] = useState<string>();
  const people = useData('members', async (signal) => {
    const members = await api.get<ListPage<Member>>('/portal/members', {}, signal);
    const invitations = isOwner
      ? await api.get<ListPage<Invitation>>('/portal/invitations', {}, signal)
      : { data: [] as Invitation[] };
    return { members: members.data, invitations: invitations.data };
  });
  const [ending, setEnding] = useState<{ member: Member; role?: string }>();
  const act = (doing: Promise<unknown>) => {
    setFailure(undefined);
    doing.then(people.reload, (error: Error) => setFailure(error.message));
  };

  const changeRole = ({ user_id: id }: Member, to: string) => act(api.patch(`/portal/members/${id}`, { role: to }));
  /**
   * Asks for confirmation before an owner loses that role, because that revokes keys. Until then the list shows the
   * current role.
   */
  const askOrChange = (member: Member, chosen: HTMLSelectElement) => {
    const role = chosen.value;
    if (member.role !== 'owner') return changeRole(member, role);
    chosen.value = member.role;
    setEnding({ member, role });
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
                      onChange={(event) => askOrChange(member, event.currentTarget)}
                    >
                      {ROLES.map(({ value }) => (
                        <option key={value} value={value}>
                          {labelOf(value)}
                        </option>
                      ))}
                    </select>
                  ) : (
                    labelOf(member.role)
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
                      onClick={() => setEnding({ member })}
                    >
                      Remove
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
            {invitations.map((invitation) => (
              <tr key={invitation.invitation_id}>
                <td class="quiet">Invited</td>
                <td>{invitation.email}</td>
                <td>{labelOf(invitation.role)}</td>
                <td>
                  until <Time at={invitation.expires_at} />
                </td>
                <td>
                  <button
                    type="button"
                    class="button button-small"
                    aria-label={`Withdraw the invitation for ${invitation.email}`}
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
      {ending === undefined ? null : (
        <Confirm
          title={
            ending.role === undefined
              ? `Remove ${ending.member.email}?`
              : `Change the role of ${ending.member.email} to ${ending.role}?`
          }
          text="The API keys that they created stop working immediately. Create replacement keys for your applications first. They may still know other keys and the webhook signing secret, so rotate those too."
          action={ending.role === undefined ? 'Remove member' : 'Change role'}
          onConfirm={async () => {
            if (ending.role === undefined) act(api.delete(`/portal/members/${ending.member.user_id}`));
            else changeRole(ending.member, ending.role);
          }}
          onClose={() => setEnding(undefined)}
        />
      )}
      {isOwner ? <Invite onInvited={people.reload} /> : null}
    </section>
  );
}

function Invite({ onInvited }: { onInvited: () => void }) {
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
          what="Send this link to the person you invite."
        />
      )}
      <div class="columns">
        <TextField label="E-mail" type="email" {...form.field('email')} />
        <SelectField label="Role" options={ROLES} {...form.field('role')} />
      </div>
      <SubmitButton busy={form.busy}>Send invitation</SubmitButton>{' '}
      <span role="status">{sentTo === undefined ? '' : `Invitation sent to ${sentTo}.`}</span>
    </form>
  );
}
