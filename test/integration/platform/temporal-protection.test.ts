import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseConfig } from '../../../src/platform/config/config.js';
import { CallServiceUnavailable, createCallGateway } from '../../../src/calls/gateway.js';
import { scheduleReconciliation } from '../../../src/calls/reconciliation/schedule.js';
import { Client, type Connection } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { DETAILS_QUERY, type CallWorkflowFunction } from '../../../src/kernel/call-signals.js';
import { startCodecServer } from '../../../src/platform/temporal/codec-server/codec-server.js';
import { createDataConverter } from '../../../src/platform/temporal/data-converter.js';
import { createPayloadCodec } from '../../../src/platform/temporal/payload-codec.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { observe, type Measurements } from '../../../src/platform/telemetry/measurements.js';
import { bundleFile } from '../../../workers/bundle.js';
import { CARRIERS } from '../../../src/telephony/carrier-list.js';
import type { CarrierFactory } from '../../../src/telephony/port.js';
import { sidOf } from '../../support/sids.js';
import { eventually, startService, type Service } from '../../support/http/harness.js';
import { likeASecret } from '../../support/production.js';
import { issueCertificate, startTlsFrontend, type CertificateFiles } from '../../support/temporal-tls.js';

/** Not the host that clients connect to. */
const NAME = 'temporal.test';
const PAYLOAD_KEYS = `new:${Buffer.from(likeASecret('payloads'), 'hex').toString('base64')}`;

const SID = sidOf('CA', 18);
let hangUps = 0;
/** A carrier that accepts every dial, and fails to hang up once. */
const simulator: CarrierFactory = (deps) => ({
  ...CARRIERS.simulator(deps),
  dial: async () => ({ outcome: 'accepted', carrierSid: SID }),
  hangUp: async () => {
    if (hangUps++ === 0) throw new Error('failure with a canary');
  },
  limitTo: async () => undefined,
});

let folder: string;
let frontend: Awaited<ReturnType<typeof startTlsFrontend>>;
let stranger: CertificateFiles;
let env: Record<string, string>;
let service: Service;

/** Starts the service with a worker and encryption, on a Temporal server that requires certificates of its clients. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callwright-temporal-'));
  const authority = await issueCertificate(folder, { file: 'authority', name: 'Test authority' });
  const server = await issueCertificate(folder, { file: 'server', name: NAME, issuer: authority });
  const client = await issueCertificate(folder, { file: 'client', name: 'callwright', issuer: authority });
  stranger = await issueCertificate(folder, { file: 'stranger', name: 'stranger' });
  frontend = await startTlsFrontend({ temporal: String(process.env['TEST_TEMPORAL_ADDRESS']), server, authority });
  env = {
    TEMPORAL_ADDRESS: frontend.address,
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_CERT_FILE: client.cert,
    TEMPORAL_TLS_KEY_FILE: client.key,
    TEMPORAL_TLS_CA_FILE: authority.cert,
    TEMPORAL_TLS_SERVER_NAME: NAME,
  };
  service = await startService({ env: { ...env, TEMPORAL_PAYLOAD_KEYS: PAYLOAD_KEYS }, carriers: { simulator } });
}, 120_000);
afterAll(async () => {
  await service.close();
  frontend.close();
  await rm(folder, { recursive: true });
});

describe('a Temporal server that requires client certificates', () => {
  it('admits API, worker and set-up', async () => {
    const { testKey } = await service.customer(0);
    const placed = await service.place(testKey, { to_phone_number: '+12025550100', instruction: 'Hello.' });
    expect(placed.status).toBe(200);
    await scheduleReconciliation(service.config);
    await service.withClient(({ schedule }) =>
      schedule.getHandle(`reconcile-ledger-${service.config.temporal.taskQueues.calls}`).delete(),
    );
  });

  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
  it.each([
    ['no certificate', () => without('TEMPORAL_TLS_CERT_FILE', 'TEMPORAL_TLS_KEY_FILE')],
    [
      'a certificate of another authority',
      () => ({ ...env, TEMPORAL_TLS_CERT_FILE: stranger.cert, TEMPORAL_TLS_KEY_FILE: stranger.key }),
    ],
    ['no trust in the server’s authority', () => without('TEMPORAL_TLS_CA_FILE')],
    ['another server name', () => ({ ...env, TEMPORAL_TLS_SERVER_NAME: 'other.test' })],
    ['no TLS', () => ({ TEMPORAL_ADDRESS: frontend.address })],
  ])('is not used with %s', async (_, settings) => {
    const gateway = await createCallGateway({ config: parseConfig({ NODE_ENV: 'test', ...settings() }) });
    try {
      await expect(gateway.checkHealth()).rejects.toThrow(CallServiceUnavailable);
    } finally {
      await gateway.close();
    }
  });

  it('has a certificate, a key and an authority that are checked at start', async () => {
    const rejectionOf = (more: Record<string, string>) => {
      try {
        return parseConfig({ NODE_ENV: 'test', ...more }) && '';
      } catch (error) {
        return String(error);
      }
    };
    const pem = await readFile(stranger.key, 'utf8');
    expect(rejectionOf(env)).toBe('');
    expect(rejectionOf({ ...env, TEMPORAL_TLS_KEY_FILE: stranger.key })).toMatch('is not the key of TEMPORAL_TLS_CERT');
    expect(rejectionOf({ ...env, TEMPORAL_TLS_CA_FILE: stranger.key })).toMatch('TEMPORAL_TLS_CA must be');
    expect(rejectionOf({ ...env, TEMPORAL_TLS_CERT_FILE: stranger.key })).toMatch('TEMPORAL_TLS_CERT must be');
    expect(rejectionOf({ ...env, TEMPORAL_TLS_KEY_FILE: stranger.cert })).toMatch('TEMPORAL_TLS_KEY must be');
    expect(rejectionOf(without('TEMPORAL_TLS_KEY_FILE'))).toMatch('set both');
    expect(rejectionOf({ ...env, TEMPORAL_TLS: 'false' })).toMatch('needs TEMPORAL_TLS=true');
    expect(rejectionOf({ ...env, TEMPORAL_TLS_KEY_FILE: stranger.key })).not.toContain(pem.split('\n')[1]);
  });
});

describe('a call whose data in Temporal is encrypted', () => {
  const NUMBER = '+12025550147';
  const INSTRUCTION = 'Ask for the canary.';
  const receiver = createServer((_request, response) => void response.end());
  let callId: string;
  let accountId: string;
  let history: temporal.api.history.v1.IHistory;
  let server: Awaited<ReturnType<typeof startCodecServer>>;
  const TOKEN = likeASecret('codec');
  const ORIGIN = 'https://temporal.example.com';

  beforeAll(async () => {
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/canary-hook`;
    const { liveKey, account } = await service.customer();
    accountId = account._id;
    const body = { to_phone_number: NUMBER, instruction: INSTRUCTION, webhook_url: webhookUrl };
    const placed = await service.place(liveKey, body);
    expect(placed.json).toMatchObject({ call_id: expect.any(String) });
    callId = String(placed.json['call_id']);
    // As an API process does that has no keys yet.
    const plain = { ...service.config, temporal: { ...service.config.temporal, payloadKeys: { keys: [] } } };
    const gateway = await createCallGateway({ config: plain });
    await gateway.signalCarrier(callId, { kind: 'answered', at: Date.now(), carrierSid: SID }, 'plain');
    await gateway.close();
    await service.gateway.hangUp(callId, { cause: 'operator_cancel' });
    await eventually(async () => hangUps > 1);
    const ended = { kind: 'ended', at: Date.now(), carrierSid: SID, status: 'completed', durationSeconds: 1 } as const;
    await service.gateway.signalCarrier(callId, ended, 'encrypted');
    await service.withClient((client) => client.workflow.getHandle<CallWorkflowFunction>(callId).result());
    history = await rawHistory();
    const logger = createLogger({ role: 'test', level: 'silent' });
    const codec = createPayloadCodec(service.config.temporal.payloadKeys);
    server = await startCodecServer({ host: '127.0.0.1', port: 0, token: TOKEN, origins: [ORIGIN], codec, logger });
  }, 60_000);
  afterAll(() => {
    server.close();
    receiver.close();
  });

  /** Reads the history as somebody does who has access to Temporal, but no key. */
  const rawHistory = () =>
    service.withClient(({ connection }) =>
      new Client({ connection: connection as Connection }).workflow.getHandle(callId).fetchHistory(),
    );

  const decode = (
    body: string,
    headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
    path = 'decode',
  ) => fetch(`http://127.0.0.1:${server.port}/${path}`, { method: 'POST', body, headers });

  it('has no readable payload in its history, except what a process without keys sent', () => {
    const payloads = payloadsIn(history);
    const plain = payloads.filter((payload) => encodingOf(payload) !== 'binary/encrypted');
    expect(payloads.length).toBeGreaterThan(10);
    expect(plain.map((payload) => defaultPayloadConverter.fromPayload<object>(payload))).toEqual([
      expect.objectContaining({ kind: 'answered', carrierSid: SID }),
    ]);
    const text = readable(history);
    for (const secret of [NUMBER, INSTRUCTION, 'canary', 'ringTimeoutSeconds', 'heldSeconds', 'live mode'])
      expect(text).not.toContain(secret);
    expect(text).toContain('Encoded failure');
    expect(text).not.toContain('node_modules');
  });

  it('can be queried, and read with its result, only with a key', async () => {
    await service.withClient(async (client) => {
      const run = client.workflow.getHandle<CallWorkflowFunction>(callId);
      expect(await run.query(DETAILS_QUERY)).toMatch(`account ${accountId}, agent agent_`);
      expect((await run.result()).endReason).toBe('operator_cancel');
      const stranger = new Client({ connection: client.connection }).workflow.getHandle<CallWorkflowFunction>(callId);
      await expect(stranger.query(DETAILS_QUERY)).rejects.toThrow('binary/encrypted');
      await expect(stranger.result()).rejects.toThrow('binary/encrypted');
    });
  });

  it('replays with the keys', async () => {
    const codePath = join(__dirname, '../../../dist/workers', basename(bundleFile({ traced: false, encrypted: true })));
    const dataConverter = createDataConverter(service.config.temporal.payloadKeys);
    const options = { workflowBundle: { codePath }, dataConverter };
    await expect(Worker.runReplayHistory(options, history, callId)).resolves.toBeUndefined();
  });

  it('is readable through the codec server', async () => {
    const sent = payloadsIn(history).map((payload) => temporal.api.common.v1.Payload.fromObject(payload).toJSON());
    const response = await decode(JSON.stringify({ payloads: sent }), {
      authorization: `Basic ${Buffer.from(`operator:${TOKEN}`).toString('base64')}`,
      origin: ORIGIN,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    const { payloads } = (await response.json()) as { payloads: { data?: string }[] };
    expect(payloads).toHaveLength(sent.length);
    const text = payloads.map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join('\n');
    for (const part of [
      accountId,
      'ringTimeoutSeconds',
      '"direction":"outbound"',
      'failure with a canary',
      'completed',
    ])
      expect(text).toContain(part);
  });

  it('is not decoded without the token, or for pages of other origins', async () => {
    const status = async (...given: Parameters<typeof decode>) => (await decode(...given)).status;
    const body = JSON.stringify({ payloads: [] });
    const authorization = `Bearer ${TOKEN}`;
    const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    expect(await status(body)).toBe(200);
    for (const headers of [
      {},
      { authorization: 'Bearer' },
      { authorization: `Bearer ${TOKEN}0` },
      basic(TOKEN.slice(1)),
      basic(':'),
    ])
      expect(await status(body, headers as Record<string, string>)).toBe(401);
    expect(await status(body, { authorization, origin: 'https://other.example.com' })).toBe(403);
    const preflight = (origin: string) =>
      fetch(`http://127.0.0.1:${server.port}/decode`, { method: 'OPTIONS', headers: { origin } });
    expect((await preflight(ORIGIN)).headers.get('access-control-allow-headers')).toContain('x-namespace');
    expect((await preflight('https://other.example.com')).headers.get('access-control-allow-origin')).toBeNull();
    expect(await status(body, { authorization }, 'encode')).toBe(404);
    for (const wrong of ['', 'null', '[]', '{"payloads":{}}', '{"payloads":[{"data":"%"}]}'])
      expect(await status(wrong)).toBe(400);
    expect(await status(JSON.stringify({ payloads: Array.from({ length: 10_001 }, () => ({})) }))).toBe(400);
    expect(await status('x'.repeat(9 * 1_048_576))).toBe(413);
  });

  it('is measured when it is asked for, with the token or without', async () => {
    const reported: Measurements['httpRequest'][] = [];
    const forget = observe('httpRequest', (request) => reported.push(request));
    try {
      await decode(JSON.stringify({ payloads: [] }));
      await decode(JSON.stringify({ payloads: [] }), {});
      await decode('', {}, 'encode');
    } finally {
      forget();
    }
    expect(reported).toMatchObject([
      { method: 'POST', route: '/decode', status: 200 },
      { method: 'POST', route: '/decode', status: 401 },
    ]);
  });

  it('may be absent: the command line of Temporal sends an empty message for an event without payloads', async () => {
    const response = await decode('{}');
    expect([response.status, await response.json()]).toEqual([200, { payloads: [] }]);
  });

  it('stays as it is in the codec server if its key is missing', async () => {
    const unknown = {
      metadata: { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('gone') },
      data: '',
    };
    const plain = { metadata: { encoding: base64('json/plain') }, data: base64('1') };
    const response = await decode(JSON.stringify({ payloads: [unknown, plain] }));
    expect(await response.json()).toEqual({ payloads: [unknown, plain] });
  });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const encodingOf = ({ metadata }: Payload) => Buffer.from(metadata?.['encoding'] ?? []).toString();

/**
 * Collects the payloads of an object. Without search attributes and headers, which Temporal and traces must read, and
 * without markers, in which the SDK stores times and names of activities.
 */
function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value) return [value as Payload];
  return Object.entries(value).flatMap(([name, part]) =>
    ['searchAttributes', 'header', 'data', 'patch-data'].includes(name) ? [] : payloadsIn(part),
  );
}

/** Returns everything that can be read in an object, including its bytes. */
function readable(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name}: ${readable(part)}`)
    .join('\n');
}
