import { randomBytes, randomUUID } from 'node:crypto';
import { CARRIERS } from '../../../src/telephony/carrier-list.js';
import type { CallInstruction, Markup } from '../../../src/telephony/callbacks.js';
import type { CallReport, CarrierDouble, CarrierServer, Ports } from '../carrier-contract/double';
import { createTestCarrierFactory, type Action } from './carrier';
import { encode } from './codec';
import type { Notice } from './routes';
import { CALLEES, LOST_RESPONSE, NO_RESPONSE, startTestCarrierServer } from './server';

/**
 * Starts the test carrier for the contract suite. The suite adds the carrier's factory to the registry, as for any new
 * carrier. It sets the account in the parsed configuration, because `CARRIER` has no value for this carrier.
 */
export async function startTestCarrier({ api, carrier: port }: Ports): Promise<CarrierServer> {
  const account = { carrierAccountId: randomUUID(), authToken: randomBytes(16).toString('base64url') };
  const apiUrl = `http://127.0.0.1:${api}`;
  const own = { accountId: account.carrierAccountId, secret: account.authToken };
  const server = await startTestCarrierServer({ ...own, port, apiUrl });
  return {
    env: {},
    factories: { ...CARRIERS, 'test-carrier': createTestCarrierFactory(server.publicKey) },
    adapt: (config) => ({
      ...config,
      carriers: {
        ...config.carriers,
        live: {
          name: 'default',
          kind: 'test-carrier',
          isSimulated: false,
          ...account,
          baseUrl: `http://127.0.0.1:${port}`,
          fromNumber: '+12025550199',
        },
      },
    }),
    doubles: { live: createTestCarrierDouble(server, apiUrl) },
    close: () => server.close(),
  };
}

const DIAL_FAULTS: CarrierDouble['dialFaults'] = {
  'wrong credentials': '+12025550121',
  'a caller or callee that the account may not use': '+12025550122',
  'a number that does not exist': '+12025550123',
  'too many requests': '+12025550124',
  'too many calls': '+12025550125',
  'a server error': '+12025550126',
  'a lost response': LOST_RESPONSE,
  'no response': NO_RESPONSE,
};

const firstOf = ({ body }: Pick<Markup, 'body'>) => (JSON.parse(body) as { actions: Action[] }).actions[0]!;

function createTestCarrierDouble(
  server: Awaited<ReturnType<typeof startTestCarrierServer>>,
  apiUrl: string,
): CarrierDouble {
  const signed = (path: string, notice: Notice) => ({ path, ...server.signed(`${apiUrl}${path}`, notice) });
  return {
    newCallId: () => randomUUID(),
    newStreamId: () => randomUUID(),
    foreignIds: [`CA${'0'.repeat(32)}`, '../../keys', `${randomUUID()}/end`, randomUUID().toUpperCase(), ''],
    numbers: { person: '+12025550100', ...CALLEES },
    dialFaults: DIAL_FAULTS,
    limitOf: async (id) => server.limitOf(id),
    instructionsFor: async (id) => server.instructionsFor(id).map((body) => readActions({ body })),
    receive: async (call) => server.receive(call),
    hangUp: (id) => server.hangUp(id),
    request(callId, report) {
      const route = report.kind === 'stream_ended' ? 'next' : 'events';
      return signed(`/carriers/test/calls/${callId}/${route}`, noticeOf(report));
    },
    announce: (call, { from, to, forwardedFrom }) =>
      signed('/carriers/test/calls', { call, from, to, forwarded_by: forwardedFrom }),
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
    read: readActions,
  };
}

function readActions(markup: Pick<Markup, 'body'>): Partial<CallInstruction> {
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
}

function noticeOf(report: CallReport): Notice {
  const { carrierSid: call } = report;
  if (report.kind === 'stream_ended') return { call };
  if (report.kind === 'detected') return { call, listener: report.who === 'human' ? 'person' : 'machine' };
  return report.kind === 'answered'
    ? { call, state: 'talking', n: 1 }
    : { call, state: 'over', outcome: 'completed', n: 2 };
}
