import type { Role } from '../../../src/kernel/access.js';
import type { Mode } from '../../../src/kernel/ids.js';

/** Who asks. */
export interface Actor {
  name: string;
  kind: 'nobody' | 'badKey' | 'key' | 'member' | 'endedSession' | 'carrier' | 'payment';
  /** Of the key, of the carrier's account, or the one that a member names. */
  mode?: Mode;
  role?: Role;
  /** A member whose e-mail address is not verified. */
  unverified?: true;
  /** Says that it comes from a page of our own. */
  ownOrigin?: true;
  /** Asks about things of an account that is not its own. */
  stranger?: true;
}

/** What the path names: in which mode it lives; `account` is one thing for both modes. */
export interface Target {
  kind: 'call' | 'delivery' | 'key' | 'agent' | 'number' | 'member' | 'invitation';
  mode: Mode;
}

export type Verdict = 'admitted' | 401 | 403 | 404;

/** Who gets in at all. Whoever is not named in a row is refused with its last entry. */
const DOORS = {
  anybody: { in: ['nobody', 'badKey', 'key', 'member', 'endedSession', 'carrier', 'payment'], otherwise: 401 },
  key: { in: ['key'], otherwise: 401 },
  keyOrMember: { in: ['key', 'member'], otherwise: 401 },
  member: { in: ['member'], otherwise: 401 },
  // Whoever comes from a page of our own.
  ownPage: { in: [], page: true, otherwise: 403 },
  keyOrCarrier: { in: ['key', 'carrier'], otherwise: 401 },
  carrier: { in: ['carrier'], otherwise: 403 },
  payment: { in: ['payment'], otherwise: 403 },
} as const satisfies Record<string, { in: readonly Actor['kind'][]; page?: true; otherwise: 401 | 403 }>;

interface Rule {
  door: keyof typeof DOORS;
  /** A member needs a page of our own for what is no mere read. */
  isRead?: true;
  /** Of members who may; absent: nobody is a member here. */
  roles?: readonly Role[];
  onlyVerified?: true;
  /** What a test key may not: anything here, or anything to a live agent. */
  noTestKey?: 'at all' | 'on live agents';
}

const EVERYBODY: readonly Role[] = ['owner', 'developer', 'viewer'];
const DEVELOPERS: readonly Role[] = ['owner', 'developer'];
const OWNERS: readonly Role[] = ['owner'];

/** What each group of operations demands, written down here and not taken from the contracts, which are what is tested. */
const GROUPS: readonly [rule: Rule, operations: string][] = [
  [
    { door: 'anybody', isRead: true },
    'readSignUpOptions checkLiveness checkReadiness readInterface readDocs readDocsFile',
  ],
  [{ door: 'key', isRead: true }, 'readOrPlaceCall'],
  [{ door: 'key' }, 'placeCall'],
  [{ door: 'keyOrCarrier' }, 'receiveCall'],
  [
    { door: 'carrier' },
    'answerOutboundCall reportOutboundStatus reportAnsweredBy reportTransferStatus reportInboundStatus continueAfterStream',
  ],
  [{ door: 'payment' }, 'receivePayment'],
  [{ door: 'ownPage' }, 'signUp logIn requestPasswordReset resetPassword verifyEmail acceptInvitation'],
  [
    { door: 'keyOrMember', isRead: true, roles: EVERYBODY },
    'listCalls readCall watchCall readTranscript readRecording listWebhookDeliveries readWebhookDelivery ' +
      'listFailingWebhooks readWebhookSigning listAgents readAgent listPhoneNumbers readPhoneNumber readAccount ' +
      'listVoices listLanguages readBalance readLedger readUsage',
  ],
  [{ door: 'keyOrMember', isRead: true, roles: DEVELOPERS }, 'listApiKeys readAuditLog'],
  [{ door: 'keyOrMember', roles: DEVELOPERS }, 'createCall cancelCall eraseCall redeliverWebhook createAgent'],
  [{ door: 'keyOrMember', roles: DEVELOPERS, noTestKey: 'on live agents' }, 'updateAgent archiveAgent'],
  [
    { door: 'keyOrMember', roles: DEVELOPERS, noTestKey: 'at all' },
    'addPhoneNumber updatePhoneNumber removePhoneNumber',
  ],
  [{ door: 'keyOrMember', roles: OWNERS }, 'createApiKey updateApiKey revokeApiKey'],
  [
    { door: 'keyOrMember', roles: OWNERS, noTestKey: 'at all' },
    'rotateWebhookSigning turnOffWebhookSigning updateAccount',
  ],
  [{ door: 'member', isRead: true, roles: EVERYBODY }, 'readSession listMembers'],
  [{ door: 'member', roles: EVERYBODY }, 'sendVerificationEmail logOut logOutEverywhere changePassword'],
  [{ door: 'member', isRead: true, roles: OWNERS }, 'listInvitations'],
  [{ door: 'member', roles: OWNERS }, 'updateMember removeMember withdrawInvitation'],
  [{ door: 'member', roles: OWNERS, onlyVerified: true }, 'inviteMember'],
];

const RULES = new Map(GROUPS.flatMap(([rule, operations]) => operations.split(' ').map((id) => [id, rule] as const)));

/** Every operation that has a rule. */
export const RULED: readonly string[] = [...RULES.keys()];

/** Things of one mode; numbers, members and invitations belong to the account. */
const OF_A_MODE: readonly Target['kind'][] = ['call', 'delivery', 'key'];

/** What a request must come to. @throws Error for an operation without a rule */
export function verdictOf(id: string, actor: Actor, target?: Target): Verdict {
  const rule = RULES.get(id);
  if (rule === undefined) throw new Error(`${id}: there is no rule who may; add it to GROUPS.`);
  const door: { in: readonly Actor['kind'][]; page?: true; otherwise: 401 | 403 } = DOORS[rule.door];
  const isIn = door.in.includes(actor.kind) || (door.page === true && actor.ownOrigin === true);
  if (!isIn) return door.otherwise;

  if (actor.kind === 'member' && rule.roles !== undefined) {
    if (rule.isRead !== true && actor.ownOrigin !== true) return 403;
    if (actor.role === undefined || !rule.roles.includes(actor.role)) return 403;
    if (actor.unverified && rule.onlyVerified) return 403;
  }
  const isTestKey = actor.kind === 'key' && actor.mode === 'test';
  if (isTestKey && rule.noTestKey === 'at all') return 403;

  // The carrier is told 200 of unknown calls, too.
  if (target === undefined || actor.kind === 'carrier') return 'admitted';
  if (actor.stranger) return 404;
  if (OF_A_MODE.includes(target.kind) && target.mode !== actor.mode) return 404;
  if (target.kind === 'agent' && target.mode === 'test' && actor.mode === 'live') return 404;
  if (isTestKey && rule.noTestKey === 'on live agents' && target.mode === 'live') return 403;
  return 'admitted';
}
