import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../../src/platform/config/config.js';
import { CallServiceUnavailable, createCallGateway } from '../../../src/calls/gateway.js';
import { scheduleReconciliation } from '../../../src/calls/reconciliation/schedule.js';
import { startService, type Service } from '../../support/http/harness.js';
import { issueCertificate, startTlsFrontend, type CertificateFiles } from '../../support/temporal-tls.js';

/** Not the host that clients connect to. */
const NAME = 'temporal.test';

let folder: string;
let frontend: Awaited<ReturnType<typeof startTlsFrontend>>;
let stranger: CertificateFiles;
let env: Record<string, string>;
let service: Service;

/** Starts the service with a worker on a Temporal server that requires certificates of its clients. */
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
  service = await startService({ env });
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
      schedule.getHandle(`reconcile-ledger-${service.config.temporal.taskQueue}`).delete(),
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
