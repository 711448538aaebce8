import { EventEmitter } from 'node:events';
import type { ApiContext } from '../../src/platform/http/context.js';
import { createSignedRequests } from '../../src/platform/http/signed-requests.js';

describe('signed requests of one carrier account', () => {
  it('share its turns: a flood of calls to one number delays no callbacks, and no calls to other numbers', async () => {
    const signedRequests = createSignedRequests({ failureLimiter: { count: async () => undefined } as never });
    const admitted: string[] = [];
    const contexts: ApiContext[] = [];
    const send = (name: string, groups: string[]) => {
      const state = { arrivedAt: Date.now(), minDeadlineMs: 60_000 };
      const ctx = { state, res: new EventEmitter() } as unknown as ApiContext;
      const verify = async () => ({ sender: 'account', groups });
      const sharing = { senderOf: ({ sender }: { sender: string }) => sender, groupsOf: () => groups };
      return signedRequests.admit(ctx, verify, sharing).then(() => {
        admitted.push(name);
        contexts.push(ctx);
      });
    };
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const all = Array.from({ length: 60 }, () => send('flood', ['inbound', '+12025550101']));
    await settle();
    expect(admitted).toHaveLength(10);
    all.push(send('callback', ['calls']), send('other', ['inbound', '+12025550102']));
    await settle();
    for (let turns = 0; turns < 2; turns += 1) {
      contexts[turns]?.state.releaseSigned?.();
      await settle();
    }
    expect(admitted.slice(10).toSorted()).toEqual(['callback', 'other']);
    for (let at = 2; at < all.length; at += 1) {
      contexts[at]?.state.releaseSigned?.();
      await settle();
    }
    await Promise.all(all);
  });
});
