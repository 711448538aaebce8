import { randomBytes } from 'node:crypto';
import type { Role } from '../../kernel/access.js';
import { InvitationBody } from '../../identity/sign-in/schemas.js';
import { memberNotFound } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { normalEmail } from '../../identity/people/email-contract.js';
import { createEmailLinks, linkTo, type LinkPurpose } from '../../identity/people/email-links.js';
import { createMembers } from '../../identity/people/members.js';
import type { UserDocument } from '../../identity/people/model.js';
import { createPasswords } from '../../identity/people/passwords.js';
import type { AdminConnection } from './connect.js';
import { findAccount } from './money.js';
import type { Output } from '../output.js';

const COLUMNS = { email: 'E-mail', name: 'Name', role: 'Role', email_verified: 'Verified', user_id: 'Member' };
const SHOWN_ONCE = 'The link is shown only once, and is valid once for 30 minutes.';

/** Creates a member with a random password and prints a link. The member opens the link and chooses a password. */
export async function createMember(
  on: AdminConnection,
  out: Output,
  accountId: string,
  given: string,
  options: { name: string; role: Role },
) {
  const account = await findAccount(on, accountId);
  const { email, role } = checked(given, options.role);
  const members = createMembers(on.database);
  const passwordHash = await createPasswords().hash(randomBytes(32).toString('base64url'));
  const user = await members.addMember({ accountId: account._id, email, role, name: options.name, passwordHash });
  const link = await linkFor(on, user._id, 'reset');
  await out.record(`Member created. Send them this link to choose a password. ${SHOWN_ONCE}`, {
    ...memberView(user),
    link,
  });
}

export async function listMembers(on: AdminConnection, out: Output, accountId: string) {
  const account = await findAccount(on, accountId);
  await out.table((await createMembers(on.database).list(account._id)).map(memberView), COLUMNS);
}

export async function inviteMember(
  on: AdminConnection,
  out: Output,
  accountId: string,
  given: string,
  options: { role: Role },
) {
  const account = await findAccount(on, accountId);
  const { token, invitation } = await createMembers(on.database).invite({
    accountId: account._id,
    ...checked(given, options.role),
    // The operator who passes on the link has checked that the address belongs to the member.
    provesAddress: true,
  });
  await out.record('Invitation created. The link is shown only once, and is valid once for 7 days.', {
    invitation_id: invitation.invitationId,
    email: invitation.email,
    role: invitation.role,
    link: linkTo(on.config.publicBaseUrl, 'accept-invitation', token),
  });
}

export async function resetLink(on: AdminConnection, out: Output, email: string) {
  const members = createMembers(on.database);
  const address = addressOf(email);
  const user = await members.findByEmail(address);
  if (user) return out.record(SHOWN_ONCE, { ...memberView(user), link: await linkFor(on, user._id, 'reset') });
  if ((await members.countUnverified(address)) === 0) {
    throw memberNotFound(email);
  }
  // It is not proven that the address belongs to the person who signed up with it. If it belongs to someone else, a
  // reset link would give that other person the account.
  const remedy =
    'Have them sign up again, or remove and invite them again, then verify the address with: callwright admin members verify-link';
  throw new ServiceError('CONFLICT', `${address} is not verified, so its password cannot be reset. ${remedy}.`);
}

/**
 * Prints a link that verifies the address. The person must also enter the password they signed up with. The operator
 * who passes on the link must have checked that the address belongs to that person.
 */
export async function verifyLink(on: AdminConnection, out: Output, email: string) {
  const members = createMembers(on.database);
  const address = addressOf(email);
  if (await members.findByEmail(address)) throw new ServiceError('CONFLICT', `${address} is already verified.`);
  const count = await members.countUnverified(address);
  if (count === 0)
    throw new ServiceError('NOT_FOUND', `There is no unverified member with the e-mail address ${email}.`);
  const sentence = `${SHOWN_ONCE} To use it, the password of the sign-up is required.`;
  await out.record(sentence, {
    email: address,
    unverified_sign_ups: count,
    link: await linkFor(on, address, 'verify'),
  });
}

const addressOf = (email: string) => normalEmail(email) ?? email;

const PAGES: Readonly<Record<LinkPurpose, string>> = { verify: 'verify-email', reset: 'reset-password' };

async function linkFor({ config, database }: AdminConnection, subject: string, purpose: LinkPurpose): Promise<string> {
  return linkTo(config.publicBaseUrl, PAGES[purpose], await createEmailLinks(database).issue(subject, purpose));
}

/** @throws ServiceError MISSING_PARAMS when the address or role is invalid */
function checked(email: string, role: Role): { email: string; role: Role } {
  const parsed = InvitationBody.safeParse({ email, role });
  if (parsed.success) return parsed.data;
  throw new ServiceError('MISSING_PARAMS', parsed.error.issues.map(({ message }) => message).join(' '));
}

function memberView(user: UserDocument) {
  return {
    user_id: user._id,
    account_id: user.accountId,
    email: user.email,
    name: user.name,
    role: user.role,
    email_verified: user.unverified !== true,
  };
}
