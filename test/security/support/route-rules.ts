import type { Role } from '../../../src/kernel/access.js';
import type { Mode } from '../../../src/kernel/ids.js';

/** The sender of a request. */
export interface Actor {
  name: string;
  kind: 'anonymous' | 'badKey' | 'key' | 'member' | 'endedSession' | 'carrier' | 'payment';
  /** The mode of the key, of the carrier's account, or of the `mode` parameter that a member sends. */
  mode?: Mode;
  role?: Role;
  /** If true, the member has not verified the e-mail address. */
  unverified?: true;
  /** If true, the headers of the request say that it comes from a page of the portal. */
  ownOrigin?: true;
  /** If true, the member is an operator of the service. */
  operator?: true;
  /** If true, the request refers to objects of another account. */
  ofOtherAccount?: true;
}

/** The object that a path identifies, and the object's mode. */
export interface Target {
  kind: 'call' | 'delivery' | 'key' | 'agent' | 'number' | 'member' | 'invitation';
  mode: Mode;
}

export type Verdict = 'admitted' | 401 | 403 | 404;

/** The actors that pass authentication. All other actors get the status in `otherwise`. */
const ACCESS = {
  anybody: { in: ['anonymous', 'badKey', 'key', 'member', 'endedSession', 'carrier', 'payment'], otherwise: 401 },
  key: { in: ['key'], otherwise: 401 },
  keyOrMember: { in: ['key', 'member'], otherwise: 401 },
  member: { in: ['member'], otherwise: 401 },
  // Any request that comes from a page of the portal passes.
  ownPage: { in: [], page: true, otherwise: 403 },
  keyOrCarrier: { in: ['key', 'carrier'], otherwise: 401 },
  carrier: { in: ['carrier'], otherwise: 403 },
  payment: { in: ['payment'], otherwise: 403 },
} as const satisfies Record<string, { in: readonly Actor['kind'][]; page?: true; otherwise: 401 | 403 }>;

interface Rule {
  access: keyof typeof ACCESS;
  /** If true, the operation only reads, so a member's request need not come from a page of the portal. */
  isRead?: true;
  /** The roles whose members may use the operation; absent if the role does not matter. */
  roles?: readonly Role[];
  onlyVerified?: true;
  /** If true, other members get a 403, and the operation finds objects of both modes. */
  onlyOperators?: true;
  /** The restriction for test keys: they get a 403 for the whole operation, or only if the agent is a live one. */
  noTestKey?: 'at all' | 'on live agents';
}

const EVERYBODY: readonly Role[] = ['owner', 'developer', 'viewer'];
const DEVELOPERS: readonly Role[] = ['owner', 'developer'];
const OWNERS: readonly Role[] = ['owner'];

/**
 * The access rule of each operation. The rules are written down here again, because the contracts themselves are under
 * test.
 */
const GROUPS: readonly [rule: Rule, operations: string][] = [
  [
    { access: 'anybody', isRead: true },
    'readSignUpOptions checkLiveness checkServing checkReadiness readInterface readDocs readDocsFile',
  ],
  [{ access: 'key', isRead: true }, 'readOrPlaceCall'],
  [{ access: 'key' }, 'placeCall'],
  [{ access: 'keyOrCarrier' }, 'receiveCall'],
  [
    { access: 'carrier' },
    'answerOutboundCall reportOutboundStatus reportAnsweredBy reportTransferStatus reportInboundStatus continueAfterError continueAfterStream',
  ],
  [{ access: 'payment' }, 'receivePayment'],
  [{ access: 'ownPage' }, 'signUp logIn requestPasswordReset resetPassword verifyEmail acceptInvitation'],
  [
    { access: 'keyOrMember', isRead: true, roles: EVERYBODY },
    'listCalls readCall watchCall readTranscript readTrace readWaveform readRecording listWebhookDeliveries ' +
      'readWebhookDelivery listFailingWebhooks readWebhookSigning listAgents readAgent listPhoneNumbers readPhoneNumber readAccount ' +
      'listVoices listLanguages readBalance readLedger readUsage',
  ],
  [{ access: 'keyOrMember', isRead: true, roles: DEVELOPERS }, 'listApiKeys readAuditLog'],
  [
    { access: 'keyOrMember', roles: DEVELOPERS },
    'createCall createWebCall cancelCall eraseCall redeliverWebhook createAgent',
  ],
  [{ access: 'keyOrMember', roles: DEVELOPERS, noTestKey: 'on live agents' }, 'updateAgent archiveAgent'],
  [
    { access: 'keyOrMember', roles: DEVELOPERS, noTestKey: 'at all' },
    'addPhoneNumber updatePhoneNumber removePhoneNumber',
  ],
  [{ access: 'keyOrMember', roles: OWNERS }, 'createApiKey updateApiKey revokeApiKey'],
  [
    { access: 'keyOrMember', roles: OWNERS, noTestKey: 'at all' },
    'rotateWebhookSigning turnOffWebhookSigning updateAccount',
  ],
  [{ access: 'member', isRead: true, roles: EVERYBODY }, 'readSession listMembers'],
  [{ access: 'member', roles: EVERYBODY }, 'sendVerificationEmail logOut logOutEverywhere changePassword'],
  [{ access: 'member', isRead: true, roles: OWNERS }, 'listInvitations'],
  [{ access: 'member', roles: OWNERS }, 'updateMember removeMember withdrawInvitation'],
  [{ access: 'member', roles: OWNERS, onlyVerified: true }, 'inviteMember'],
  // Production does not have this route.
  [{ access: 'member', roles: DEVELOPERS, onlyOperators: true }, 'killMediaProcess'],
];

const RULES = new Map(GROUPS.flatMap(([rule, operations]) => operations.split(' ').map((id) => [id, rule] as const)));

/** The names of all operations that have a rule. */
export const OPERATIONS_WITH_RULES: readonly string[] = [...RULES.keys()];

/** Kinds of objects that have a mode. Numbers, members and invitations belong to the whole account. */
const KINDS_WITH_MODE: readonly Target['kind'][] = ['call', 'delivery', 'key'];

/** Returns the expected result of a request. @throws Error for an operation without a rule */
export function expectedVerdict(id: string, actor: Actor, target?: Target): Verdict {
  const rule = RULES.get(id);
  if (rule === undefined) throw new Error(`${id}: there is no access rule; add it to GROUPS.`);
  const access: { in: readonly Actor['kind'][]; page?: true; otherwise: 401 | 403 } = ACCESS[rule.access];
  const isIn = access.in.includes(actor.kind) || (access.page === true && actor.ownOrigin === true);
  if (!isIn) return access.otherwise;

  if (actor.kind === 'member' && rule.roles !== undefined) {
    if (rule.isRead !== true && actor.ownOrigin !== true) return 403;
    if (actor.role === undefined || !rule.roles.includes(actor.role)) return 403;
    if (actor.unverified && rule.onlyVerified) return 403;
    if (!actor.operator && rule.onlyOperators) return 403;
  }
  const isTestKey = actor.kind === 'key' && actor.mode === 'test';
  if (isTestKey && rule.noTestKey === 'at all') return 403;

  // The carrier gets 200 for a call that does not exist, too.
  if (target === undefined || actor.kind === 'carrier') return 'admitted';
  if (actor.ofOtherAccount) return 404;
  if (rule.onlyOperators) return 'admitted';
  if (KINDS_WITH_MODE.includes(target.kind) && target.mode !== actor.mode) return 404;
  if (target.kind === 'agent' && target.mode === 'test' && actor.mode === 'live') return 404;
  if (isTestKey && rule.noTestKey === 'on live agents' && target.mode === 'live') return 403;
  return 'admitted';
}
