import { createHmac, randomBytes, randomInt } from 'node:crypto';
import { ulid } from 'ulid';
import { z } from 'zod';
import { sign } from '../../src/telephony/twilio/signature.js';
import { routes } from '../../src/api/routes.js';
import { developmentRoutes } from '../../src/calls/development/contract.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { ROLES, type Role } from '../../src/kernel/access.js';
import type { Mode } from '../../src/kernel/ids.js';
import { createMembers } from '../../src/identity/people/members.js';
import { createLoginSessions } from '../../src/identity/people/login-sessions.js';
import { startService, type Customer, type Service, withoutRequestId } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { OPERATIONS_WITH_RULES, expectedVerdict, type Actor, type Target } from './support/route-rules.js';

jest.setTimeout(240_000);

const PAYMENT_SECRET = 'whsec_of-these-tests';
/** Nothing listens at this address. The routes that send e-mail respond before they send it. */
const MAIL = { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'Callwright <no-reply@callwright.example>' };
const MODES: readonly Mode[] = ['live', 'test'];
const TABLE: [string, Route][] = Object.entries({ ...routes, ...developmentRoutes });

const ACTORS: readonly Actor[] = [
  { name: 'anonymous', kind: 'anonymous' },
  { name: 'a page of the portal', kind: 'anonymous', ownOrigin: true },
  { name: 'an invalid key', kind: 'badKey' },
  { name: 'an unknown key', kind: 'badKey' },
  { name: 'a revoked key', kind: 'badKey' },
  ...MODES.flatMap((mode): Actor[] => [
    { name: `${mode} key`, kind: 'key', mode },
    { name: `another account’s ${mode} key`, kind: 'key', mode, ofOtherAccount: true },
    ...ROLES.flatMap((role): Actor[] => [
      { name: `unverified ${role} in ${mode} mode`, kind: 'member', mode, role, ownOrigin: true, unverified: true },
      { name: `${role} in ${mode} mode`, kind: 'member', mode, role, ownOrigin: true },
      { name: `${role} in ${mode} mode from another site`, kind: 'member', mode, role },
    ]),
    {
      name: `another account’s owner in ${mode} mode`,
      kind: 'member',
      mode,
      role: 'owner',
      ownOrigin: true,
      ofOtherAccount: true,
    },
    { name: `operator in ${mode} mode`, kind: 'member', mode, role: 'owner', ownOrigin: true, operator: true },
    { name: `the ${mode} carrier`, kind: 'carrier', mode },
  ]),
  { name: 'an ended session', kind: 'endedSession', ownOrigin: true },
  { name: 'the payment provider', kind: 'payment' },
];

/**
 * The kind of target that each path parameter identifies. In the path of a webhook delivery, `{call_id}` identifies the
 * delivery.
 */
const KINDS: Readonly<Record<string, Target['kind'] | 'file'>> = {
  call_id: 'call',
  agent_id: 'agent',
  phone_number: 'number',
  key_id: 'key',
  user_id: 'member',
  invitation_id: 'invitation',
  file: 'file',
};
const MISSING: Readonly<Record<Target['kind'], string>> = {
  call: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  delivery: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  agent: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  number: '+12025559999',
  key: 'key_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  member: 'user_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  invitation: 'invite_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
};

/**
 * Request bodies for routes whose first example in the contract does not fit. These bodies can be sent again, or they
 * start nothing.
 */
const BODIES: Readonly<Record<string, () => Record<string, unknown>>> = {
  // An incomplete body is rejected, but only after the permissions have been checked.
  placeCall: () => ({}),
  createCall: () => ({}),
  createWebCall: () => ({}),
  receiveCall: () => ({ From: '+12025550143' }),
  signUp: () => ({}),
  logIn: () => ({}),
  acceptInvitation: () => ({}),
  requestPasswordReset: () => ({}),
  resetPassword: () => ({}),
  verifyEmail: () => ({}),
  changePassword: () => ({}),
  updateAccount: () => ({ name: 'Acme' }),
  addPhoneNumber: () => ({ phone_number: newNumber() }),
  updatePhoneNumber: () => ({ agent_id: null }),
  inviteMember: () => ({ email: `${ulid().toLowerCase()}@example.com`, role: 'viewer' }),
};

/**
 * Fields of bodies that end in `_id` but do not refer to an object of the account. `REFERENCES` lists those that do.
 */
const NO_REFERENCES = ['external_call_id', 'voice_id'];

const newNumber = () => `+1202555${randomInt(1_000, 10_000)}${randomInt(100, 1_000)}`.slice(0, 13);

let service: Service;
let make: ReturnType<typeof managementOf>;
let own: Customer;
let other: Customer;
let revoked: string;
const users = new Map<string, string>();

beforeAll(async () => {
  service = await startService({ worker: false, env: { PAYMENT_WEBHOOK_SECRET: PAYMENT_SECRET, ...MAIL } });
  make = managementOf(service);
  [own, other] = [await service.customer(), await service.customer()];
  for (const { account } of [own, other]) {
    await service.accounts.setLimits(account._id, { requestsPerMinute: 1_000_000 });
    for (const role of ROLES) {
      users.set(`${account._id} ${role}`, await newUser(account._id, role));
      users.set(`${account._id} ${role} unverified`, await newUser(account._id, role, true));
    }
    const operator = await newUser(account._id, 'owner');
    await service.database.users.updateOne({ _id: operator }, { operator: true });
    users.set(`${account._id} owner operator`, operator);
  }
  const { secret, key } = await service.apiKeys.create({ accountId: own.account._id, mode: 'live', name: 'revoked' });
  await service.apiKeys.revoke(key.keyId);
  revoked = secret;
});
afterAll(() => service.close());

async function newUser(accountId: string, role: Role, unverified = false): Promise<string> {
  const _id = `user_${ulid()}`;
  const person = { email: `${_id.toLowerCase()}@example.com`, name: 'Ada', passwordHash: 'none' };
  const { users: verifiedUsers, unverifiedUsers } = service.database;
  const user = { _id, ...person, accountId, role, createdAt: new Date() };
  if (unverified) await unverifiedUsers.create([{ ...user, unverified: true, invited: true }]);
  else await verifiedUsers.create([user]);
  return _id;
}

/** Creates a new target of each kind in the sender's account. */
const MAKE: Readonly<Record<Target['kind'], (mode: Mode) => Promise<string>>> = {
  // The call is erased already, so erasing it again needs no worker.
  call: async (mode) => {
    const id = await make.endedCall(own, { mode });
    await service.database.calls.updateOne({ _id: id }, { $set: { erasedAt: new Date() } });
    return id;
  },
  delivery: async (mode) => {
    const callId = await make.endedCall(own, { mode });
    const url = 'http://127.0.0.1:9/hook';
    const delivery = { _id: callId, callId, accountId: own.account._id, mode, url, body: '{}', createdAt: new Date() };
    await service.database.webhookDeliveries.create([delivery]);
    return callId;
  },
  agent: async (mode) => {
    const agent = { name: 'A', instruction: 'B', voice: 'amber', language: 'en-US' };
    return (await service.agents.create({ accountId: own.account._id, mode, ...agent }))._id;
  },
  number: async () => (await service.phoneNumbers.add({ number: newNumber(), accountId: own.account._id }))._id,
  key: async (mode) => (await service.apiKeys.create({ accountId: own.account._id, mode, name: 'k' })).key.keyId,
  member: () => newUser(own.account._id, 'viewer'),
  invitation: async () => {
    const invited = {
      accountId: own.account._id,
      email: `${ulid().toLowerCase()}@example.com`,
      role: 'viewer' as const,
    };
    return (await createMembers(service.database).invite({ ...invited, provesAddress: true })).invitation.invitationId;
  },
};

/**
 * Returns the kind of target that a route's path identifies. @throws Error for a path parameter that is not in `KINDS`
 */
function targetKindOf(id: string, { path }: Route): Target['kind'] | undefined {
  const [, name] = /\{(\w+)\}/.exec(path) ?? [];
  if (name === undefined) return undefined;
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`${id}: unknown parameter {${name}}; add it to KINDS, MISSING and MAKE.`);
  if (kind === 'file') return undefined;
  return path.startsWith('/webhook_deliveries/') ? 'delivery' : kind;
}

interface Outcome {
  status: number;
  text: string;
  code: unknown;
}

async function ask(id: string, route: Route, actor: Actor, targetId = ''): Promise<Outcome> {
  const { account, liveKey, testKey } = actor.ofOtherAccount ? other : own;
  const path = route.path.replace('{file}', 'swagger-ui.css').replace(/\{\w+\}/, encodeURIComponent(targetId));
  const pathWithMode = actor.kind === 'member' && route.auth === 'keyOrSession' ? `${path}?mode=${actor.mode}` : path;
  const headers = new Headers();
  const type = route.body?.contentType ?? 'application/json';
  if (route.method !== 'get') headers.set('Content-Type', type);
  if (actor.ownOrigin) headers.set('Sec-Fetch-Site', 'same-origin');
  if (actor.kind === 'key') headers.set('Authorization', `Bearer ${actor.mode === 'live' ? liveKey : testKey}`);
  if (actor.kind === 'badKey') headers.set('Authorization', `Bearer ${badKey(actor.name)}`);
  if (actor.kind === 'member' || actor.kind === 'endedSession') {
    headers.set('Cookie', `__Host-sid=${await tokenFor(id, route, actor, account._id)}`);
  }
  const fields =
    BODIES[id]?.() ?? (Object.values(route.body?.examples ?? {})[0] as Record<string, string> | undefined) ?? {};
  let body = type.endsWith('json')
    ? JSON.stringify(fields)
    : new URLSearchParams(fields as Record<string, string>).toString();
  if (actor.kind === 'carrier' && actor.mode !== undefined) {
    const { carrierAccountId, authToken } = service.config.carriers[actor.mode];
    const params = type.endsWith('json') ? {} : { ...(fields as Record<string, string>), AccountSid: carrierAccountId };
    if (!type.endsWith('json')) body = new URLSearchParams(params).toString();
    headers.set(
      'X-Twilio-Signature',
      sign({ authToken, url: `${service.config.publicBaseUrl}${pathWithMode}`, params }),
    );
  }
  if (actor.kind === 'payment') {
    const now = Math.floor(Date.now() / 1_000);
    const signature = createHmac('sha256', PAYMENT_SECRET).update(`${now}.${body}`).digest('hex');
    headers.set('Stripe-Signature', `t=${now},v1=${signature}`);
  }
  const response = await fetch(`${service.baseUrl}${pathWithMode}`, {
    method: route.method.toUpperCase(),
    headers,
    ...(route.method === 'get' ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  });
  // Does not read the body of an event stream, which would continue for seconds.
  if (response.headers.get('content-type') === 'text/event-stream') {
    await response.body?.cancel();
    return { status: response.status, text: '', code: undefined };
  }
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return {
    status: response.status,
    text: withoutRequestId({ text }),
    code: isJson ? (JSON.parse(text) as Record<string, unknown>)['error_code'] : undefined,
  };
}

const tokens = new Map<string, string>();

/** Creates a session for each route, because sessions have their own rate limit and some routes end the session. */
async function tokenFor(id: string, route: Route, actor: Actor, accountId: string): Promise<string> {
  const user = `${accountId} ${actor.role ?? 'owner'}${actor.unverified ? ' unverified' : ''}${actor.operator ? ' operator' : ''}`;
  const known = tokens.get(`${id} ${actor.kind} ${user}`);
  if (known !== undefined && route.changes !== 'self') return known;
  const sessions = createLoginSessions(service.database);
  const { token } = await sessions.begin({ _id: users.get(user) ?? '', passwordHash: 'none' });
  const begun = await sessions.find(token);
  if (actor.kind === 'endedSession' && begun) await sessions.end(begun.session._id);
  tokens.set(`${id} ${actor.kind} ${user}`, token);
  return token;
}

function badKey(name: string): string {
  if (name === 'a revoked key') return revoked;
  return name === 'an unknown key' ? `sk_live_${'a'.repeat(38)}` : 'garbage';
}

/**
 * Derives the verdict from a response. A 404 counts only if the response is the same as for a target that does not
 * exist.
 */
function verdictFrom({ status, text, code }: Outcome, missing: Outcome | undefined): unknown {
  if (status === 401 && code === 'UNAUTHORIZED') return 401;
  if (status === 403 && code === 'FORBIDDEN') return 403;
  if (status === 404 && missing?.status === 404 && missing.text === text) return 404;
  return status < 500 && status !== 401 && status !== 403 ? 'admitted' : `${status} ${text}`;
}

describe('every route admits exactly the actors that the rules name, in each mode', () => {
  it.each(TABLE)('%s', async (id, route) => {
    const kind = targetKindOf(id, route);
    const modes: (Mode | undefined)[] = kind === undefined ? [undefined] : [...MODES];
    const wrong: object[] = [];
    const ofMissing = new Map<Actor['kind'], Outcome>();
    for (const mode of modes) {
      let targetId = '';
      for (const actor of ACTORS) {
        const target = kind !== undefined && mode !== undefined ? { kind, mode } : undefined;
        const expected = expectedVerdict(id, actor, target);
        if (target && targetId === '') targetId = await MAKE[target.kind](target.mode);
        if (kind !== undefined && (expected === 404 || expected === 'admitted') && !ofMissing.has(actor.kind)) {
          ofMissing.set(actor.kind, await ask(id, route, actor, MISSING[kind]));
        }
        const verdict = verdictFrom(await ask(id, route, actor, targetId), ofMissing.get(actor.kind));
        if (verdict !== expected) wrong.push({ route: id, actor: actor.name, target, expected, verdict });
        // An admitted request may have changed or deleted the target, so the next one gets a new target.
        if (verdict === 'admitted' && route.method !== 'get') targetId = '';
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('the table of routes', () => {
  it('declares what each route changes, except plain reads', () => {
    const silent = TABLE.filter(([, route]) => route.method !== 'get' && route.changes === undefined);
    expect(silent.map(([id]) => id)).toEqual([]);
  });

  it('has an access rule for each route and for no other', () => {
    expect(OPERATIONS_WITH_RULES.toSorted()).toEqual(TABLE.map(([id]) => id).toSorted());
  });

  it('lists every body field that names something of an account', () => {
    const known = new Set(REFERENCES.map(([id, field]) => `${id} ${field}`));
    const fields = TABLE.flatMap(([id, route]) => namesIn(route.body?.schema).map((name) => [id, name] as const));
    const unknown = fields.filter(([id, name]) => !NO_REFERENCES.includes(name) && !known.has(`${id} ${name}`));
    expect(unknown).toEqual([]);
  });
});

/**
 * Routes whose body refers to an object of the account: the field, and a body that is valid except for the reference.
 */
const REFERENCES: readonly [string, string, (id: string) => Record<string, unknown>][] = [
  ['placeCall', 'agent_id', (id) => ({ to_phone_number: '+12025550100', agent_id: id })],
  ['placeCall', 'call_id', (id) => ({ call_id: id })],
  ['createCall', 'agent_id', (id) => ({ to_phone_number: '+12025550100', agent_id: id })],
  [
    'receiveCall',
    'agent_id',
    (id) => ({
      CallSid: `CA${randomBytes(16).toString('hex')}`,
      From: '+12025550143',
      To: '+12025550199',
      agent_id: id,
    }),
  ],
  ['addPhoneNumber', 'agent_id', (id) => ({ phone_number: newNumber(), agent_id: id })],
  ['updatePhoneNumber', 'agent_id', (id) => ({ agent_id: id })],
  ['createWebCall', 'agent_id', (id) => ({ agent_id: id })],
  ['updateAccount', 'inbound_agent_id', (id) => ({ inbound_agent_id: id })],
];

function namesIn(schema: z.ZodType | undefined): string[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => namesIn(option as z.ZodType));
  return schema instanceof z.ZodObject ? Object.keys(schema.shape).filter((name) => name.endsWith('_id')) : [];
}

describe('a body that names a target of another account or mode gets the response for a missing one', () => {
  it.each(REFERENCES)('%s %s', async (id, field, bodyWith) => {
    const route: Route = routes[id as keyof typeof routes];
    const kind = field === 'call_id' ? 'call' : 'agent';
    const foreign = kind === 'call' ? await make.endedCall(other) : other.agent._id;
    const ofOtherMode = await MAKE[kind]('test');
    const number = await MAKE.number('live');
    const responses = [];
    for (const named of [MISSING[kind], foreign, ofOtherMode]) {
      const fields = bodyWith(named);
      const isForm = route.body?.contentType.endsWith('urlencoded') === true;
      const answer = await service.request(route.path.replace(/\{\w+\}/, encodeURIComponent(number)), {
        method: route.method.toUpperCase(),
        key: own.liveKey,
        ...(isForm
          ? { body: new URLSearchParams(fields as Record<string, string>) }
          : { body: JSON.stringify(fields), headers: { 'Content-Type': 'application/json' } }),
      });
      responses.push({ status: answer.status, text: withoutRequestId(answer).replace(named, '<id>') });
    }
    expect(responses[0]).toMatchObject({ status: 404 });
    expect(responses[1]).toEqual(responses[0]);
    expect(responses[2]).toEqual(responses[0]);
  });
});
