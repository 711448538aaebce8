import type { Invitation, Member } from '../../../../identity/sign-in/schemas.js';
import { labelOf } from '../../labels';
import { usePortal } from '../../session';
import { SmallButton } from '../buttons';
import { Time } from '../values';
import { ROLE_OPTIONS } from './roles';

/**
 * A member with the controls of an owner.
 * @param p.onChoose receives the select element, which shows the chosen role before the service has stored it
 */
export function MemberRow(p: {
  of: Member;
  isOwner: boolean;
  onChoose: (select: HTMLSelectElement) => void;
  onRemove: () => void;
}) {
  const { session } = usePortal();
  const { of: member } = p;
  return (
    <tr role="row">
      <td role="cell">{member.name}</td>
      <td role="cell" class="breakable-cell">
        {member.email}
        {member.email_verified ? null : <span class="quiet"> (not verified)</span>}
      </td>
      <td role="cell">
        {p.isOwner ? (
          <select
            aria-label={`Role of ${member.email}`}
            value={member.role}
            onChange={(event) => p.onChoose(event.currentTarget)}
          >
            {ROLE_OPTIONS.map(({ value }) => (
              <option key={value} value={value}>
                {labelOf(value)}
              </option>
            ))}
          </select>
        ) : (
          labelOf(member.role)
        )}
      </td>
      <td role="cell">
        <Time at={member.created_at} />
      </td>
      <td role="cell" class="number">
        {p.isOwner && member.user_id !== session?.member.user_id ? (
          <SmallButton label={`Remove ${member.email}`} onClick={p.onRemove}>
            Remove
          </SmallButton>
        ) : null}
      </td>
    </tr>
  );
}

/** A person who has not accepted the invitation yet. */
export function InvitationRow({ of: invitation, onWithdraw }: { of: Invitation; onWithdraw: () => void }) {
  return (
    <tr role="row">
      <td role="cell" class="quiet">
        Invited
      </td>
      <td role="cell" class="breakable-cell">
        {invitation.email}
      </td>
      <td role="cell">{labelOf(invitation.role)}</td>
      <td role="cell">
        until <Time at={invitation.expires_at} />
      </td>
      <td role="cell" class="number">
        <SmallButton label={`Withdraw the invitation for ${invitation.email}`} onClick={onWithdraw}>
          Withdraw
        </SmallButton>
      </td>
    </tr>
  );
}
