import type { RouteAuth } from '../../src/platform/http/contract/route.js';
import { routes, type OperationId } from '../../src/api/routes.js';

/** Who a part of the run asks as; the hooks know what each brings. */
export type Who = 'key' | 'session' | 'newcomer' | 'carrier' | 'nobody';

export interface Part {
  name: string;
  who: Who;
  /** Of the key, where one is asked with. */
  mode?: 'live' | 'test';
  operations: OperationId[];
  /** Of the examples that each operation gets. */
  share: number;
  /** Without the systematic requests, which another part asks of the same operations. */
  brief?: true;
}

/** They end the session that asks. */
const ENDING: OperationId[] = ['logOut', 'logOutEverywhere', 'changePassword'];
/** They may take from those who ask what they ask with, so their part comes when nothing else needs it. */
const DISARMING: OperationId[] = ['revokeApiKey', 'updateMember', 'removeMember'];

/**
 * Every operation, by everybody who may ask it, in an order in which none takes from a later part what that one needs.
 */
export const PARTS: readonly Part[] = [
  { name: 'key', who: 'key', mode: 'live', operations: sparing('key', 'keyOrSession'), share: 1 },
  { name: 'test-key', who: 'key', mode: 'test', operations: sparing('key', 'keyOrSession'), share: 0.5, brief: true },
  { name: 'session', who: 'session', operations: sparing('keyOrSession', 'session', 'origin'), share: 1 },
  { name: 'carrier', who: 'carrier', operations: sparing('keyOrCarrier', 'carrier'), share: 1 },
  { name: 'open', who: 'nobody', operations: sparing('none'), share: 1 },
  { name: 'leaving', who: 'newcomer', operations: ENDING, share: 0.5 },
  {
    name: 'disarming',
    who: 'session',
    operations: [...DISARMING, 'listApiKeys', 'createApiKey', 'listMembers'],
    share: 0.5,
  },
];

function sparing(...auths: RouteAuth[]): OperationId[] {
  return (Object.keys(routes) as OperationId[]).filter(
    (id) => auths.includes(routes[id].auth) && !ENDING.includes(id) && !DISARMING.includes(id),
  );
}
