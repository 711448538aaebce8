import type { RouteAuth } from '../../src/platform/http/contract/route.js';
import { routes, type OperationId } from '../../src/api/routes.js';

/** How a part of the fuzz run authenticates; `hooks.py` adds the credentials. */
export type Authentication = 'key' | 'session' | 'newcomer' | 'carrier' | 'nobody';

export interface Part {
  name: string;
  who: Authentication;
  /** The mode of the API key. */
  mode?: 'live' | 'test';
  operations: OperationId[];
  /** The share of the examples for each operation that this part sends. */
  share: number;
  /**
   * Leaves out Schemathesis's systematic requests (its coverage phase), because another part sends them to the same
   * operations.
   */
  brief?: true;
}

/** Operations that end the session of the request. */
const ENDING: OperationId[] = ['logOut', 'logOutEverywhere', 'changePassword'];
/** Operations that can revoke the credentials in use. The part that sends them therefore runs last. */
const REVOKING: OperationId[] = ['revokeApiKey', 'updateMember', 'removeMember'];

/**
 * Every operation with every kind of authentication that it accepts. No part breaks the credentials that a later part
 * uses.
 */
export const PARTS: readonly Part[] = [
  { name: 'key', who: 'key', mode: 'live', operations: operationsWith('key', 'keyOrSession'), share: 1 },
  {
    name: 'test-key',
    who: 'key',
    mode: 'test',
    operations: operationsWith('key', 'keyOrSession'),
    share: 0.5,
    brief: true,
  },
  { name: 'session', who: 'session', operations: operationsWith('keyOrSession', 'session', 'origin'), share: 1 },
  { name: 'carrier', who: 'carrier', operations: operationsWith('keyOrCarrier', 'carrier'), share: 1 },
  { name: 'open', who: 'nobody', operations: operationsWith('none'), share: 1 },
  { name: 'leaving', who: 'newcomer', operations: ENDING, share: 0.5 },
  {
    name: 'disarming',
    who: 'session',
    operations: [...REVOKING, 'listApiKeys', 'createApiKey', 'listMembers'],
    share: 0.5,
  },
];

function operationsWith(...auths: RouteAuth[]): OperationId[] {
  return (Object.keys(routes) as OperationId[]).filter(
    (id) => auths.includes(routes[id].auth) && !ENDING.includes(id) && !REVOKING.includes(id),
  );
}
