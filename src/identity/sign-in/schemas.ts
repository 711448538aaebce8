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
    description: 'Common passwords, and those made of the e-mail address or a name, are refused.',
    format: 'password',
    examples: ['correct horse battery'],
  });
};

/** A password to verify: any text, so that the response to a wrong one does not depend on its format. */
const givenPassword = (field: string) =>
  ofLength(given(field), { max: 1_024 }, `${field} is not right.`).meta({ format: 'password' });

export const SignUpBody = z
  .strictObject({
    email: email.describe('E-mail address to log in with; upper and lower case are the same.'),
    password: newPassword('password'),
    name: label('name').describe('Name of the person who signs up.'),
    account_name: label('account_name').describe('Name of the account to open.'),
  })
  .meta({ id: 'SignUp' });

export const SignUpOptions = z
  .object({
    sign_up: z
      .enum(['off', 'invite', 'open'])
      .describe('Who may join by themselves: anybody (open), people with an invitation (invite), or nobody (off).'),
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
  .describe('Whether the API keys that the person made end with the old password; they go on unless this is true.');

export const PasswordBody = z
  .strictObject({
    current_password: givenPassword('current_password').describe('Password that the member has now.'),
    new_password: newPassword('new_password'),
    revoke_api_keys: revokeApiKeys,
  })
  .meta({ id: 'PasswordChange' });

export const InvitationBody = z
  .strictObject({ email: email.describe('E-mail address of the person to invite.'), role })
  .meta({ id: 'NewInvitation' });

const token = (what: string, description: string) =>
  ofLength(z.string('token is required.'), { max: 128 }, `token is not one of ${what}.`).describe(description);

export const EmailBody = z
  .strictObject({ email: email.describe('E-mail address of the member who forgot the password.') })
  .meta({ id: 'EmailAddress' });

export const VerifyEmailBody = z
  .strictObject({
    token: token('a link', 'Token from the verification link.'),
    password: givenPassword('password')
      .optional()
      .describe('Of the sign-up; not needed with its session.')
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
    password_changed: z.literal(true).describe('Always true: the new password is in force.'),
    active_api_keys: z.number().int().min(0).describe('How many API keys that the person made go on working.'),
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
        'Until then they invite nobody, and an account they opened has 1 USD of play money and one call at a time.',
      ),
    created_at: timestamp('When they joined.'),
  })
  .meta({ id: 'Member', description: 'Person who may log in to the account.' });
export type Member = z.infer<typeof Member>;
export const MemberList = listOf(Member, 'MemberList');

export const PortalSession = z
  .object({
    member: Member,
    account: Account,
    expires_at: timestamp('When it ends, at the latest.'),
    temporal_ui_url: z
      .string()
      .optional()
      .describe('Where operators of this service see its workflows; absent for everybody else.'),
  })
  .meta({ id: 'PortalSession' });
export type PortalSession = z.infer<typeof PortalSession>;

export const Invitation = z
  .object({
    invitation_id: z.string().describe('Identifier of the invitation.'),
    email: z.string().describe('E-mail address of the invited person.'),
    role,
    created_at: timestamp('When it was made.'),
    expires_at: timestamp('Until when it can be accepted.'),
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
      .describe(
        'What the invited person accepts with, shown here only; absent where the invitation is sent by e-mail.',
      ),
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
export const SESSION_EXAMPLE: PortalSession = {
  member: MEMBER_EXAMPLE,
  account: ACCOUNT_EXAMPLE,
  expires_at: '2026-11-28T10:00:00.000Z',
};
export const INVITATION_EXAMPLE: Invitation = {
  invitation_id: 'invite_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  email: 'grace@example.com',
  role: 'developer',
  created_at: '2026-11-21T10:00:00.000Z',
  expires_at: '2026-11-28T10:00:00.000Z',
};
