import { z } from 'zod';
import {
  AcceptInvitationBody,
  CreatedInvitation,
  EmailBody,
  EmailVerified,
  Invitation,
  INVITATION_EXAMPLE,
  InvitationBody,
  InvitationList,
  LinkRequested,
  LoggedOut,
  LogInBody,
  Member,
  MEMBER_EXAMPLE,
  MemberChangesBody,
  MemberList,
  PasswordBody,
  PasswordChanged,
  PortalSession,
  ResetPasswordBody,
  SESSION_EXAMPLE,
  SignUpBody,
  SignUpOptions,
  VerifyEmailBody,
} from './schemas.js';
import { defineRoute, jsonAnswer } from '../../platform/http/contract/route.js';

const json = 'application/json';
const session = jsonAnswer('The session; its cookie is set.', PortalSession, { session: SESSION_EXAMPLE });
const loggedOut = jsonAnswer('Logged out.', LoggedOut, { loggedOut: { logged_out: true } });
const userParams = z.object({
  user_id: z.string().meta({ description: 'Member.', examples: [MEMBER_EXAMPLE.user_id] }),
});
const password = 'correct horse battery';

/** Routes for sign-up and log-in. For the portal's pages; programs use API keys. */
export const entryRoutes = {
  readSignUpOptions: defineRoute({
    method: 'get',
    path: '/portal/sign-up-options',
    tag: 'Portal',
    summary: 'Read who may sign up',
    description: 'Returns whether anybody may open an account, and whether the service sends e-mail. Needs no session.',
    auth: 'none',
    success: jsonAnswer('How people join.', SignUpOptions, { open: { sign_up: 'open', sends_email: false } }),
    errors: [],
  }),
  signUp: defineRoute({
    method: 'post',
    path: '/portal/sign-up',
    tag: 'Portal',
    summary: 'Open an account and log in',
    description:
      'The new account has the trial plan, an empty live balance, and play money. At most 10 an hour per address.',
    auth: 'origin',
    changes: 'self',
    body: {
      contentType: json,
      schema: SignUpBody,
      examples: { ada: { email: 'ada@example.com', password, name: 'Ada', account_name: 'Acme' } },
      onDemand: true,
    },
    success: session,
    errors: ['CONFLICT'],
  }),
  logIn: defineRoute({
    method: 'post',
    path: '/portal/log-in',
    tag: 'Portal',
    summary: 'Log in',
    description:
      'At most five wrong passwords for an e-mail address from one network address within 15 minutes. Wrong passwords from ' +
      'any network address delay the next try for the e-mail address, 5 seconds at most. At most 20 log-ins of a person ' +
      'within 15 minutes, and 20 sessions at a time: beyond that the oldest ends.',
    auth: 'origin',
    changes: 'self',
    body: { contentType: json, schema: LogInBody, examples: { ada: { email: 'ada@example.com', password } } },
    success: session,
    errors: ['UNAUTHORIZED'],
  }),
};

/** Routes for links by e-mail: password reset and address verification. */
export const recoveryRoutes = {
  requestPasswordReset: defineRoute({
    method: 'post',
    path: '/portal/forgot-password',
    changes: 'self',
    tag: 'Portal',
    summary: 'Ask for a link to choose a new password',
    description: 'The answer is the same for every address. Links are valid once and for 30 minutes.',
    auth: 'origin',
    body: { contentType: json, schema: EmailBody, examples: { ada: { email: 'ada@example.com' } } },
    success: jsonAnswer('It is sent if the address has an account.', LinkRequested, { requested: { requested: true } }),
    errors: [],
  }),
  resetPassword: defineRoute({
    method: 'post',
    path: '/portal/reset-password',
    changes: 'self',
    tag: 'Portal',
    summary: 'Choose a new password by a link',
    description:
      'Ends every session of the person and withdraws the invitations that they made. API keys are the account’s and go on working: with ' +
      'revoke_api_keys those that the person made end, too.',
    auth: 'origin',
    body: {
      contentType: json,
      schema: ResetPasswordBody,
      examples: { reset: { token: 'Zm9v…', new_password: password } },
    },
    success: jsonAnswer('Changed.', PasswordChanged, { changed: { password_changed: true, active_api_keys: 2 } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  verifyEmail: defineRoute({
    method: 'post',
    path: '/portal/verify-email',
    changes: 'self',
    tag: 'Portal',
    summary: 'Verify an e-mail address by a link',
    description:
      'The link alone verifies nothing: it takes the session of somebody who signed up with the address, or their password. ' +
      'Wrong passwords count as those of a log-in do.',
    auth: 'origin',
    body: { contentType: json, schema: VerifyEmailBody, examples: { link: { token: 'Zm9v…', password } } },
    success: jsonAnswer('Verified.', EmailVerified, { verified: { verified: true } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  sendVerificationEmail: defineRoute({
    method: 'post',
    path: '/portal/verification-email',
    changes: 'self',
    tag: 'Portal',
    summary: 'Send the link that verifies the own e-mail address again',
    description:
      'Sends a new link to the e-mail address of the member, valid once and for 30 minutes. Returns 409 when the address is already verified, and 403 where the service sends no e-mail.',
    auth: 'session',
    roles: ['owner', 'developer', 'viewer'],
    success: jsonAnswer('It is sent.', LinkRequested, { requested: { requested: true } }),
    errors: ['CONFLICT'],
  }),
};

/** Routes for a member's own session and password. */
export const sessionRoutes = {
  readSession: defineRoute({
    method: 'get',
    path: '/portal/session',
    tag: 'Portal',
    summary: 'Read who is logged in',
    description:
      'Returns the member, their account and the time at which the session ends. A session that is not used for 12 hours ends earlier.',
    auth: 'session',
    success: jsonAnswer('The session.', PortalSession, { session: SESSION_EXAMPLE }),
    errors: [],
  }),
  logOut: defineRoute({
    method: 'post',
    path: '/portal/log-out',
    tag: 'Portal',
    summary: 'Log out',
    description: 'Ends the session and clears its cookie. Other sessions of the member go on.',
    auth: 'session',
    changes: 'self',
    roles: ['owner', 'developer', 'viewer'],
    success: loggedOut,
    errors: [],
  }),
  logOutEverywhere: defineRoute({
    method: 'post',
    path: '/portal/log-out-everywhere',
    tag: 'Portal',
    summary: 'End every session of the member, this one too',
    description: 'Ends every session of the member on every device and clears the cookie of this one.',
    auth: 'session',
    changes: 'self',
    roles: ['owner', 'developer', 'viewer'],
    success: loggedOut,
    errors: [],
  }),
  changePassword: defineRoute({
    method: 'post',
    path: '/portal/password',
    tag: 'Portal',
    summary: 'Change the password',
    description:
      'Ends every other session of the member, withdraws the invitations that they made, and gives this session a new ' +
      'cookie. API keys stay until they are revoked.',
    auth: 'session',
    changes: 'self',
    roles: ['owner', 'developer', 'viewer'],
    body: {
      contentType: json,
      schema: PasswordBody,
      examples: { change: { current_password: password, new_password: 'another horse battery' } },
    },
    success: session,
    errors: [],
  }),
};

/** Routes for members of the account and invitations to it. */
export const memberRoutes = {
  listMembers: defineRoute({
    method: 'get',
    path: '/portal/members',
    tag: 'Portal',
    summary: 'List the members of the account',
    description: 'All of them, oldest first.',
    auth: 'session',
    success: jsonAnswer('The members.', MemberList, { page: { data: [MEMBER_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  updateMember: defineRoute({
    method: 'patch',
    path: '/portal/members/{user_id}',
    tag: 'Portal',
    summary: 'Change a member’s role',
    description:
      'Ends their sessions and, unless they are an owner still, the API keys that they made. The last owner stays one.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: userParams,
    body: { contentType: json, schema: MemberChangesBody, examples: { viewer: { role: 'viewer' } } },
    success: jsonAnswer('The member.', Member, { member: { ...MEMBER_EXAMPLE, role: 'viewer' } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  removeMember: defineRoute({
    method: 'delete',
    path: '/portal/members/{user_id}',
    tag: 'Portal',
    summary: 'Remove a member',
    description: 'Ends their sessions and the API keys that they made. The last owner stays.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: userParams,
    success: jsonAnswer('Who was removed.', Member, { member: MEMBER_EXAMPLE }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  listInvitations: defineRoute({
    method: 'get',
    path: '/portal/invitations',
    tag: 'Portal',
    summary: 'List open invitations',
    description: 'Returns the invitations that can still be accepted, newest first, without their tokens.',
    auth: 'session',
    roles: ['owner'],
    success: jsonAnswer('The invitations.', InvitationList, { page: { data: [INVITATION_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  inviteMember: defineRoute({
    method: 'post',
    path: '/portal/invitations',
    tag: 'Portal',
    summary: 'Invite somebody to the account',
    description:
      'The token is shown in this answer and never again; hand it to the person. Open for 7 days. At most 50 a day of an ' +
      'account, 3 of them to one address, and 10 to one address from all accounts.',
    auth: 'session',
    changes: 'account',
    bounded: true,
    roles: ['owner'],
    verified: true,
    body: {
      contentType: json,
      schema: InvitationBody,
      examples: { grace: { email: 'grace@example.com', role: 'developer' } },
      onDemand: true,
    },
    success: jsonAnswer('The invitation.', CreatedInvitation, {
      invitation: { ...INVITATION_EXAMPLE, token: 'Zm9v…' },
    }),
    errors: ['CONFLICT'],
  }),
  withdrawInvitation: defineRoute({
    method: 'delete',
    path: '/portal/invitations/{invitation_id}',
    tag: 'Portal',
    summary: 'Withdraw an invitation',
    description:
      'Makes the invitation’s token invalid and returns the invitation. Members who have already joined stay.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: z.object({
      invitation_id: z.string().meta({ description: 'Invitation.', examples: [INVITATION_EXAMPLE.invitation_id] }),
    }),
    success: jsonAnswer('What was withdrawn.', Invitation, { invitation: INVITATION_EXAMPLE }),
    errors: ['NOT_FOUND'],
  }),
};

/** Route for accepting an invitation. */
export const joiningRoutes = {
  acceptInvitation: defineRoute({
    method: 'post',
    path: '/portal/accept-invitation',
    tag: 'Portal',
    summary: 'Join an account by invitation and log in',
    description:
      'Creates a member with the role and e-mail address of the invitation, uses the invitation up and starts a session. At most 10 an hour per network address, sign-ups included.',
    auth: 'origin',
    changes: 'self',
    body: {
      contentType: json,
      schema: AcceptInvitationBody,
      examples: { grace: { token: 'Zm9v…', name: 'Grace', password } },
      onDemand: true,
    },
    success: session,
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
};

/** Routes of the portal: sign-up, sessions and members. */
export const portalRoutes = {
  ...entryRoutes,
  ...recoveryRoutes,
  ...sessionRoutes,
  ...memberRoutes,
  ...joiningRoutes,
};
