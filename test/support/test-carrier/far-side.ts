import { randomBytes, randomUUID } from 'node:crypto';
import { CARRIERS } from '../../../src/telephony/carriers.js';
import type { FarSide, Ports, Told } from '../carrier-contract';
import { createTestCarrierFactory, type Action } from './carrier';
import { encode } from './codec';
import type { Notice } from './routes';
import { startTestCarrierServer } from './server';

/**
 * The test carrier for the contract suite. The suite adds its factory to the registry of carriers, like that of a new
 * carrier, but sets the account in the parsed configuration, because `CARRIER` has no value for it.
 */
export async function startTestCarrier({ api, carrier: port }: Ports): Promise<FarSide> {
  const account = { carrierAccountId: randomUUID(), authToken: randomBytes(16).toString('base64url') };
  const server = await startTestCarrierServer({ accountId: account.carrierAccountId, secret: account.authToken, port });
  const baseUrl = `http://127.0.0.1:${api}`;
  const firstOf = ({ body }: { body: string }) => (JSON.parse(body) as { actions: Action[] }).actions[0]!;
  return {
    env: {},
    factories: { ...CARRIERS, 'test-carrier': createTestCarrierFactory(server.publicKey) },
    adapt: (config) => ({
      ...config,
      carriers: {
        ...config.carriers,
        live: { kind: 'test-carrier', ...account, baseUrl: `http://127.0.0.1:${port}`, fromNumber: '+12025550199' },
      },
    }),
    newCallId: () => randomUUID(),
    foreignIds: [`CA${'0'.repeat(32)}`, '../../keys', `${randomUUID()}/end`, randomUUID().toUpperCase(), ''],
    person: '+12025550100',
    limitOf: async (id) => server.calls().find((call) => call.id === id)?.max_seconds,
    request(callId, told) {
      const path = `/carriers/test/calls/${callId}/events`;
      return { path, ...server.signed(`${baseUrl}${path}`, noticeOf(told)) };
    },
    upgradeOf(markup) {
      const action = firstOf(markup);
      const [, url = '', rest = ''] = /^(.*\/call_[^/]+)(\/.*)$/.exec(action.do === 'connect' ? action.url : '') ?? [];
      return { url, rest, headers: {} };
    },
    wire: (events) => {
      const messages = events.map((event, number) => encode(number, event));
      // Swap every two neighbors, except the first message.
      for (let n = 1; n + 1 < messages.length; n += 2) {
        [messages[n], messages[n + 1]] = [messages[n + 1]!, messages[n]!];
      }
      return messages;
    },
    understood(message) {
      if (typeof message !== 'string') return { audio: Buffer.from(message).toString('hex') };
      const { t, tag = '' } = JSON.parse(message) as { t: string; tag?: string };
      return t === 'drop' ? 'clear' : { mark: tag };
    },
    read(markup) {
      const action = firstOf(markup);
      switch (action.do) {
        case 'connect': {
          const [, callId = ''] = /\/(call_[^/]+)\/[^/]+$/.exec(action.url) ?? [];
          return { kind: 'stream', callId, ...(action.attempt === 0 ? {} : { resumption: action.attempt }) };
        }
        case 'call': {
          const { number: to, show: callerId, max_seconds: timeLimitSeconds, after } = action;
          const [, callId = ''] = /\/(call_[^/]+)\/next$/.exec(after) ?? [];
          return { kind: 'transfer', callId, to, callerId, timeLimitSeconds };
        }
        case 'say':
          return { kind: 'apology', words: action.text };
        case 'hang_up':
          return { kind: 'hang_up' };
        case 'decline':
          return { kind: 'reject' };
      }
    },
    close: () => server.close(),
  };
}

function noticeOf(told: Told): Notice {
  const { carrierSid: call } = told;
  if (told.kind === 'listened') return { call, listener: told.who === 'human' ? 'person' : 'machine' };
  return told.kind === 'answered'
    ? { call, state: 'talking', n: 1 }
    : { call, state: 'over', outcome: 'completed', n: 2 };
}
