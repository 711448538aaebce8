import { randomBytes, randomUUID } from 'node:crypto';
import { CARRIERS } from '../../../src/telephony/carriers.js';
import type { CarrierDouble, Ports, CallReport } from '../carrier-contract';
import { createTestCarrierFactory, type Action } from './carrier';
import { encode } from './codec';
import type { Notice } from './routes';
import { startTestCarrierServer } from './server';

/**
 * Starts the test carrier for the contract suite. The suite adds the carrier's factory to the registry, as for any new
 * carrier. It sets the account in the parsed configuration, because `CARRIER` has no value for this carrier.
 */
export async function startTestCarrier({ api, carrier: port }: Ports): Promise<CarrierDouble> {
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
    request(callId, report) {
      const path = `/carriers/test/calls/${callId}/events`;
      return { path, ...server.signed(`${baseUrl}${path}`, noticeOf(report)) };
    },
    upgradeOf(markup) {
      const action = firstOf(markup);
      const [, url = '', rest = ''] = /^(.*\/call_[^/]+)(\/.*)$/.exec(action.do === 'connect' ? action.url : '') ?? [];
      return { url, rest, headers: {} };
    },
    encode: (events) => {
      const messages = events.map((event, number) => encode(number, event));
      // Swaps every two neighboring messages, but leaves the first message in its place.
      for (let n = 1; n + 1 < messages.length; n += 2) {
        [messages[n], messages[n + 1]] = [messages[n + 1]!, messages[n]!];
      }
      return messages;
    },
    interpret(message) {
      if (typeof message !== 'string') return { audio: Buffer.from(message).toString('hex') };
      const { t, tag = '' } = JSON.parse(message) as { t: string; tag?: string };
      return t === 'drop' ? 'clear' : { mark: tag };
    },
    read(markup) {
      const action = firstOf(markup);
      switch (action.do) {
        case 'connect': {
          const [, callId = ''] = /\/(call_[^/]+)\/[^/]+$/.exec(action.url) ?? [];
          return { kind: 'stream', callId, ...(action.attempt === 0 ? {} : { streamNumber: action.attempt }) };
        }
        case 'call': {
          const { number: to, show: callerId, max_seconds: timeLimitSeconds, after } = action;
          const [, callId = ''] = /\/(call_[^/]+)\/next$/.exec(after) ?? [];
          return { kind: 'transfer', callId, to, callerId, timeLimitSeconds };
        }
        case 'say':
          return { kind: 'apology', text: action.text };
        case 'hang_up':
          return { kind: 'hang_up' };
        case 'decline':
          return { kind: 'reject' };
      }
    },
    close: () => server.close(),
  };
}

function noticeOf(report: CallReport): Notice {
  const { carrierSid: call } = report;
  if (report.kind === 'detected') return { call, listener: report.who === 'human' ? 'person' : 'machine' };
  return report.kind === 'answered'
    ? { call, state: 'talking', n: 1 }
    : { call, state: 'over', outcome: 'completed', n: 2 };
}
