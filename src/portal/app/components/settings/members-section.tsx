import { useState } from 'preact/hooks';
import type { Invitation, Member } from '../../../../identity/sign-in/schemas.js';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { useAction } from '../../use-action';
import { useData } from '../../use-data';
import { Confirm } from '../dialog';
import { Failure, Loaded } from '../feedback';
import { Table } from '../pager';
import { Invite } from './invite';
import { InvitationRow, MemberRow } from './member-rows';

/** A change that revokes the keys of a member: without `role` a removal, otherwise the loss of the role `owner`. */
interface Ending {
  member: Member;
  role?: string;
}

/** Lists members and pending invitations. */
export function MembersSection() {
  const { session } = usePortal();
  const isOwner = session?.member.role === 'owner';
  const { people, failure, changeRole, remove, withdraw } = useMembers(isOwner);
  const [ending, setEnding] = useState<Ending>();

  /** Asks before an owner loses that role. Until then the list shows the current role. */
  const choose = (member: Member, select: HTMLSelectElement) => {
    const role = select.value;
    if (member.role !== 'owner') return void changeRole(member, role);
    select.value = member.role;
    setEnding({ member, role });
  };

  return (
    <section class="card" aria-label="Members">
      <h2>Members</h2>
      <Failure>{failure}</Failure>
      <Loaded of={people}>
        {({ members, invitations }) => (
          <Table label="Members and invitations" head={['Name', 'E-mail', 'Role', 'Since', '']} cards>
            {members.map((member) => (
              <MemberRow
                key={member.user_id}
                of={member}
                isOwner={isOwner}
                onChoose={(select) => choose(member, select)}
                onRemove={() => setEnding({ member })}
              />
            ))}
            {invitations.map((invitation) => (
              <InvitationRow key={invitation.invitation_id} of={invitation} onWithdraw={() => withdraw(invitation)} />
            ))}
          </Table>
        )}
      </Loaded>
      {ending === undefined ? null : (
        <ConfirmEnding
          of={ending}
          onConfirm={() => (ending.role === undefined ? remove(ending.member) : changeRole(ending.member, ending.role))}
          onClose={() => setEnding(undefined)}
        />
      )}
      {isOwner ? <Invite onInvited={people.reload} /> : null}
    </section>
  );
}

/** Loads and changes the members and, for an owner, the invitations. */
function useMembers(isOwner: boolean) {
  const { api } = usePortal();
  const people = useData('members', async (signal) => {
    const members = await api.get<ListPage<Member>>('/portal/members', {}, signal);
    const invitations = isOwner
      ? await api.get<ListPage<Invitation>>('/portal/invitations', {}, signal)
      : { data: [] as Invitation[] };
    return { members: members.data, invitations: invitations.data };
  });
  const { failure, act } = useAction(people.reload);
  return {
    people,
    failure,
    changeRole: ({ user_id: id }: Member, role: string) => act(api.patch(`/portal/members/${id}`, { role })),
    remove: ({ user_id: id }: Member) => act(api.delete(`/portal/members/${id}`)),
    withdraw: ({ invitation_id: id }: Invitation) => void act(api.delete(`/portal/invitations/${id}`)),
  };
}

function ConfirmEnding(p: { of: Ending; onConfirm: () => Promise<void>; onClose: () => void }) {
  const { member, role } = p.of;
  return (
    <Confirm
      title={role === undefined ? `Remove ${member.email}?` : `Change the role of ${member.email} to ${role}?`}
      text="The API keys that they created stop working immediately. Create replacement keys for your applications first. They may still know other keys and the webhook signing secret, so rotate those too."
      action={role === undefined ? 'Remove member' : 'Change role'}
      onConfirm={p.onConfirm}
      onClose={p.onClose}
    />
  );
}
