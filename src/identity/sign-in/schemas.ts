import { z } from 'zod';
import { ACCOUNT_EXAMPLE, Account, role } from '../accounts/schemas.js';
import { ofLength } from '../../platform/http/contract/fields.js';
import { normalEmail } from '../people/email-contract.js';
import { label, listOf, timestamp } from '../../platform/http/contract/list.js';

const MIN_PASSWORD = 12;
const MAX_PASSWORD = 128;

const email = z
  .string({ error: (issue) => (issue.input === undefined ? 'email is required.' : 'email must be a string.') })
  .trim()
  .max(254, 'email must have at most 254 characters.')
  .transform((text, ctx) => {
    const address = normalEmail(text);
    if (address !== undefined && address.length <= 254) return address;
    ctx.addIssue('email must be an e-mail address, like ada@example.com.');
    return z.NEVER;
  })
  .meta({ format: 'email', examples: ['ada@example.com'] });

const given = (field: string) =>
  z.string({ error: (issue) => (issue.input === undefined ? `${field} is required.` : `${field} must be a string.`) });

/** A new password. */
const newPassword = (field: string) => {
  const fault = `${field} must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters.`;
  return ofLength(given(field), { min: MIN_PASSWORD, max: MAX_PASSWORD }, fault).meta({
    description: 'Common passwords, and those that consist of the e-mail address or a name, are rejected.',
    format: 'password',
    examples: ['correct horse battery'],
  });
};

/** A password to check. Any text is valid, so that the response to a wrong password does not depend on its format. */
const givenPassword = (field: string) =>
  ofLength(given(field), { max: 1_024 }, `${field} is incorrect.`).meta({ format: 'password' });

export const SignUpBody = z
  .strictObject({
    email: email.describe('E-mail address to log in with; case-insensitive.'),
    password: newPassword('password'),
    name: label('name').describe('Name of the person who signs up.'),
    account_name: label('account_name').describe('Name of the account to open.'),
  })
  .meta({ id: 'SignUp' });

export const SignUpOptions = z
  .object({
    sign_up: z
      .enum(['off', 'invite', 'open'])
      .describe(
        'Whether sign-up is open to everybody (open), only to people with an invitation (invite), or to no one (off).',
      ),
    sends_email: z.boolean().describe('Whether the service can send links to verify an address or reset a password.'),
  })
  .meta({ id: 'SignUpOptions' });
export type SignUpOptions = z.infer<typeof SignUpOptions>;

export const LogInBody = z
  .strictObject({
    email: email.describe('E-mail address of the member.'),
    password: givenPassword('password').describe('Password of the member.'),
  })
  .meta({ id: 'LogIn' });

const revokeApiKeys = z
  .boolean('revoke_api_keys must be true or false.')
  .optional()
  .describe('Whether to revoke the API keys that the member created; they stay valid by default.');

export const PasswordBody = z
  .strictObject({
    current_password: givenPassword('current_password').describe('Current password of the member.'),
    new_password: newPassword('new_password'),
    revoke_api_keys: revokeApiKeys,
  })
  .meta({ id: 'PasswordChange' });

export const InvitationBody = z
  .strictObject({ email: email.describe('E-mail address of the person to invite.'), role })
  .meta({ id: 'NewInvitation' });

const token = (what: string, description: string) =>
  ofLength(z.string('token is required.'), { max: 128 }, `token is not a valid token of ${what}.`).describe(
    description,
  );

export const EmailBody = z
  .strictObject({ email: email.describe('E-mail address of the member who forgot the password.') })
  .meta({ id: 'EmailAddress' });

export const VerifyEmailBody = z
  .strictObject({
    token: token('a link', 'Token from the verification link.'),
    password: givenPassword('password')
      .optional()
      .describe('Password of the sign-up; not needed with its login session.')
      .meta({ format: 'password' }),
  })
  .meta({ id: 'EmailVerification' });

export const ResetPasswordBody = z
  .strictObject({
    token: token('a link', 'Token from the link that resets the password.'),
    new_password: newPassword('new_password'),
    revoke_api_keys: revokeApiKeys,
  })
  .meta({ id: 'PasswordReset' });

export const LinkRequested = z
  .object({ requested: z.literal(true).describe('Always true: the request was accepted.') })
  .meta({ id: 'LinkRequested' });
export const EmailVerified = z
  .object({ verified: z.literal(true).describe('Always true: the e-mail address is verified.') })
  .meta({ id: 'EmailVerified' });
export const PasswordChanged = z
  .object({
    password_changed: z.literal(true).describe('Always true: the password was changed.'),
    active_api_keys: z.number().int().min(0).describe('Number of active API keys that the member created.'),
  })
  .meta({ id: 'PasswordChanged' });
export type PasswordChanged = z.infer<typeof PasswordChanged>;

export const AcceptInvitationBody = z
  .strictObject({
    token: token('an open invitation', 'Token of the invitation.'),
    name: label('name').describe('Name of the person who joins.'),
    password: newPassword('password'),
  })
  .meta({ id: 'AcceptedInvitation' });

export const MemberChangesBody = z.strictObject({ role }).meta({ id: 'MemberChanges' });

export const Member = z
  .object({
    user_id: z.string().describe('Identifier of the member.'),
    email: z.string().describe('E-mail address that the member logs in with.'),
    name: z.string().describe('Name of the member.'),
    role,
    email_verified: z
      .boolean()
      .describe(
        'Until then they cannot invite members, and an account they created has a test balance of 1 USD and one concurrent call.',
      ),
    created_at: timestamp('When the member joined.'),
  })
  .meta({ id: 'Member', description: 'Person who may log in to the account.' });
export type Member = z.infer<typeof Member>;
export const MemberList = listOf(Member, 'MemberList');

export const PortalSession = z
  .object({
    member: Member,
    account: Account,
    expires_at: timestamp('Latest time at which it ends.'),
    live_calls_simulated: z
      .boolean()
      .describe('Whether live calls reach the simulated carrier, so that no phone rings.'),
    payment_url: z.string().optional().describe('Page on which customers add money; absent if there is none.'),
    operator_contact_url: z
      .string()
      .optional()
      .describe('Web page or mailto address of the operator; absent if none is published.'),
    temporal_ui_url: z.string().optional().describe('Temporal UI for portal operators; absent for other members.'),
    can_kill_processes: z
      .boolean()
      .optional()
      .describe('In development, whether the member can kill the media process of a call: true for operators.'),
  })
  .meta({ id: 'PortalSession' });
export type PortalSession = z.infer<typeof PortalSession>;

export const Invitation = z
  .object({
    invitation_id: z.string().describe('Identifier of the invitation.'),
    email: z.string().describe('E-mail address of the invited person.'),
    role,
    created_at: timestamp('When it was created.'),
    expires_at: timestamp('When it expires.'),
  })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof Invitation>;
export const InvitationList = listOf(Invitation, 'InvitationList');
export const CreatedInvitation = z
  .object({
    ...Invitation.shape,
    token: z
      .string()
      .optional()
      .describe('Token to accept the invitation, shown only once; absent if the invitation is sent by e-mail.'),
  })
  .meta({ id: 'CreatedInvitation' });

export const LoggedOut = z
  .object({ logged_out: z.literal(true).describe('Always true: the session cookie no longer works.') })
  .meta({ id: 'LoggedOut' });

export const MEMBER_EXAMPLE: Member = {
  user_id: 'user_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  email: 'ada@example.com',
  name: 'Ada',
  role: 'owner',
  email_verified: true,
  created_at: '2026-11-21T10:00:00.000Z',
};
export const LOGIN_SESSION_EXAMPLE: PortalSession = {
  member: MEMBER_EXAMPLE,
  account: ACCOUNT_EXAMPLE,
  expires_at: '2026-11-28T10:00:00.000Z',
  live_calls_simulated: false,
};
export const INVITATION_EXAMPLE: Invitation = {
  invitation_id: 'invite_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  email: 'grace@example.com',
  role: 'developer',
  created_at: '2026-11-21T10:00:00.000Z',
  expires_at: '2026-11-28T10:00:00.000Z',
};
