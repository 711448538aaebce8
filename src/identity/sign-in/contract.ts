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
  LOGIN_SESSION_EXAMPLE,
  SignUpBody,
  SignUpOptions,
  VerifyEmailBody,
} from './schemas.js';
import { defineRoute, jsonResponse } from '../../platform/http/contract/route.js';

const json = 'application/json';
const session = jsonResponse('The session; its cookie is set.', PortalSession, { session: LOGIN_SESSION_EXAMPLE });
const loggedOut = jsonResponse('Logged out.', LoggedOut, { loggedOut: { logged_out: true } });
const userParams = z.object({
  user_id: z.string().meta({ description: 'Member.', examples: [MEMBER_EXAMPLE.user_id] }),
});
const password = 'correct horse battery';

/** Routes for sign-up and log-in by the portal's pages. Programs use API keys. */
export const entryRoutes = {
  readSignUpOptions: defineRoute({
    method: 'get',
    path: '/portal/sign-up-options',
    tag: 'Portal',
    summary: 'Read sign-up options',
    description: 'Returns who can sign up and whether the service sends e-mail. Requires no login session.',
    auth: 'none',
    success: jsonResponse('The sign-up options.', SignUpOptions, { open: { sign_up: 'open', sends_email: false } }),
    errors: [],
  }),
  signUp: defineRoute({
    method: 'post',
    path: '/portal/sign-up',
    tag: 'Portal',
    summary: 'Open an account and log in',
    description:
      'The new account has the trial plan, an empty live balance and a test balance. At most 10 per hour and network address.',
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
      'At most five wrong passwords per e-mail address and network address within 15 minutes. Wrong passwords from ' +
      'any network address delay the next attempt for the e-mail address by up to 5 seconds. At most 20 log-ins per member ' +
      'within 15 minutes, and 20 login sessions at a time; a further one ends the oldest.',
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
    summary: 'Request a password reset',
    description: 'The response is the same for every address. Links are valid once and for 30 minutes.',
    auth: 'origin',
    body: { contentType: json, schema: EmailBody, examples: { ada: { email: 'ada@example.com' } } },
    success: jsonResponse('The link is sent if the address has an account.', LinkRequested, {
      requested: { requested: true },
    }),
    errors: [],
  }),
  resetPassword: defineRoute({
    method: 'post',
    path: '/portal/reset-password',
    changes: 'self',
    tag: 'Portal',
    summary: 'Reset the password',
    description:
      'Ends every login session of the member and withdraws their open invitations. API keys belong to the account and stay valid, unless ' +
      'revoke_api_keys revokes those that the member created.',
    auth: 'origin',
    body: {
      contentType: json,
      schema: ResetPasswordBody,
      examples: { reset: { token: 'Zm9v…', new_password: password } },
    },
    success: jsonResponse('Changed.', PasswordChanged, { changed: { password_changed: true, active_api_keys: 2 } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  verifyEmail: defineRoute({
    method: 'post',
    path: '/portal/verify-email',
    changes: 'self',
    tag: 'Portal',
    summary: 'Verify an e-mail address',
    description:
      'In addition to the token of the link, this requires the login session or the password of a sign-up with the address. ' +
      'Wrong passwords count as failed log-ins.',
    auth: 'origin',
    body: { contentType: json, schema: VerifyEmailBody, examples: { link: { token: 'Zm9v…', password } } },
    success: jsonResponse('Verified.', EmailVerified, { verified: { verified: true } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  sendVerificationEmail: defineRoute({
    method: 'post',
    path: '/portal/verification-email',
    changes: 'self',
    tag: 'Portal',
    summary: 'Resend the verification e-mail',
    description:
      'Sends a new link to the e-mail address of the member, valid once and for 30 minutes. Returns 409 when the address is already verified, and 403 where the service sends no e-mail.',
    auth: 'session',
    roles: ['owner', 'developer', 'viewer'],
    success: jsonResponse('The e-mail is sent.', LinkRequested, { requested: { requested: true } }),
    errors: ['CONFLICT'],
  }),
};

/** Routes for a member's own session and password. */
export const loginSessionRoutes = {
  readSession: defineRoute({
    method: 'get',
    path: '/portal/session',
    tag: 'Portal',
    summary: 'Read the login session',
    description:
      'Returns the member, their account and the time at which the session ends. A session that is not used for 12 hours ends earlier.',
    auth: 'session',
    success: jsonResponse('The session.', PortalSession, { session: LOGIN_SESSION_EXAMPLE }),
    errors: [],
  }),
  logOut: defineRoute({
    method: 'post',
    path: '/portal/log-out',
    tag: 'Portal',
    summary: 'Log out',
    description: 'Ends the session and clears its cookie. Other login sessions of the member stay valid.',
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
    summary: 'Log out on all devices',
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
      'Ends every other login session of the member, withdraws their open invitations, and gives this session a new ' +
      'cookie. API keys stay valid until they are revoked.',
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
    summary: 'List members',
    description: 'Returns all members of the account, oldest first.',
    auth: 'session',
    success: jsonResponse('The members.', MemberList, { page: { data: [MEMBER_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  updateMember: defineRoute({
    method: 'patch',
    path: '/portal/members/{user_id}',
    tag: 'Portal',
    summary: 'Change a member’s role',
    description:
      'Ends their login sessions and, if an owner is demoted, revokes the API keys that they created. The last owner cannot be demoted.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: userParams,
    body: { contentType: json, schema: MemberChangesBody, examples: { viewer: { role: 'viewer' } } },
    success: jsonResponse('The member.', Member, { member: { ...MEMBER_EXAMPLE, role: 'viewer' } }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  removeMember: defineRoute({
    method: 'delete',
    path: '/portal/members/{user_id}',
    tag: 'Portal',
    summary: 'Remove a member',
    description:
      'Ends their login sessions and revokes the API keys that they created. The last owner cannot be removed.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: userParams,
    success: jsonResponse('The removed member.', Member, { member: MEMBER_EXAMPLE }),
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
    success: jsonResponse('The invitations.', InvitationList, {
      page: { data: [INVITATION_EXAMPLE], has_more: false },
    }),
    errors: [],
  }),
  inviteMember: defineRoute({
    method: 'post',
    path: '/portal/invitations',
    tag: 'Portal',
    summary: 'Invite a member',
    description:
      'The token is returned only in this response; pass it to the person. Valid for 7 days. At most 50 per day and ' +
      'account, 3 of them to the same address, and 10 to the same address from all accounts.',
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
    success: jsonResponse('The invitation.', CreatedInvitation, {
      invitation: { ...INVITATION_EXAMPLE, token: 'Zm9v…' },
    }),
    errors: ['CONFLICT'],
  }),
  withdrawInvitation: defineRoute({
    method: 'delete',
    path: '/portal/invitations/{invitation_id}',
    tag: 'Portal',
    summary: 'Withdraw an invitation',
    description: 'Invalidates the token and returns the invitation. Members who have already joined are not affected.',
    auth: 'session',
    changes: 'account',
    roles: ['owner'],
    params: z.object({
      invitation_id: z.string().meta({ description: 'Invitation.', examples: [INVITATION_EXAMPLE.invitation_id] }),
    }),
    success: jsonResponse('The withdrawn invitation.', Invitation, { invitation: INVITATION_EXAMPLE }),
    errors: ['NOT_FOUND'],
  }),
};

/** Route for accepting an invitation. */
export const joiningRoutes = {
  acceptInvitation: defineRoute({
    method: 'post',
    path: '/portal/accept-invitation',
    tag: 'Portal',
    summary: 'Accept an invitation and log in',
    description:
      'Creates a member with the role and e-mail address of the invitation, marks the invitation as used and starts a login session. At most 10 per hour and network address, including sign-ups.',
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
  ...loginSessionRoutes,
  ...memberRoutes,
  ...joiningRoutes,
};
