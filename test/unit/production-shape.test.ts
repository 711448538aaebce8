import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { traceOfCall } from '../../src/kernel/call-trace.js';
import { isPrivateRange } from '../../src/platform/config/private-ranges.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { repeatedTooOften } from '../production-shape/checks.js';
import { readOptions } from '../production-shape/options.js';
import { ruleFilesOf, withTargetFiles } from '../production-shape/prometheus.js';
import { caddyfile, CADDY_VERSION } from '../production-shape/servers/proxy.js';
import { TEMPORAL_VERSION } from '../production-shape/servers/temporal.js';
import { productionSettings } from '../production-shape/settings.js';
import { traceFaults } from '../production-shape/traces.js';
import type { ReceivedSpan } from '../support/tracing/collector-stub.js';

const { load } = jest.requireActual<{ load: (text: string) => unknown }>('js-yaml');
const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');

describe('the production shape', () => {
  it('builds the versions of the compose file', () => {
    const { services } = load(read('docker-compose.yml')) as { services: Record<string, { image: string }> };
    expect(services['proxy']?.image).toBe(`caddy:${CADDY_VERSION}`);
    expect(services['temporal']?.image).toBe(`temporalio/auto-setup:${TEMPORAL_VERSION}`);
  });

  it('uses the deployed Caddyfile with several processes behind it', () => {
    const certificate = { certFile: '/a/cert.pem', keyFile: '/a/key.pem', cert: '', key: '' };
    const upstreams = { api: ['10.0.0.1:11', '10.0.0.2:12'], media: ['10.0.0.3:21', '10.0.0.4:22'] };
    const text = caddyfile(read('deploy/Caddyfile'), { host: '10.0.0.9', port: 1, certificate, ...upstreams });
    expect(text).toMatch(/\(streams\) \{\s+to 10\.0\.0\.3:21 10\.0\.0\.4:22\s+health_uri/);
    expect(text).toMatch(
      /handle \{\s+reverse_proxy \{\s+to 10\.0\.0\.1:11 10\.0\.0\.2:12\s+health_uri \/health\/serving/,
    );
    expect(text).toContain('default_bind 10.0.0.9');
    expect(text).toContain('tls /a/cert.pem /a/key.pem');
    expect(text).not.toMatch(/import processes/);
  });

  it('gives Prometheus the addresses of its processes', () => {
    const config = load(withTargetFiles(read('deploy/prometheus/prometheus.yml'), '/f')) as {
      scrape_configs: { job_name: string; file_sd_configs: { files: string[] }[] }[];
    };
    const files = config.scrape_configs.map((job) => [job.job_name, job.file_sd_configs[0]?.files]);
    expect(files).toEqual([
      ['callwright', ['/f/roles.json']],
      ['temporal-sdk', ['/f/sdk.json']],
    ]);
  });

  it('gives Prometheus every file with rules of the deployment', () => {
    const files = readdirSync(join(__dirname, '../../deploy/prometheus'));
    const others = ['prometheus.yml', 'rules.test.yml'];
    expect(ruleFilesOf(read('deploy/prometheus/prometheus.yml')).toSorted()).toEqual(
      files.filter((name) => !others.includes(name)).toSorted(),
    );
  });

  it('does not hold if many requests had to be repeated', () => {
    const repeated = (count: number) =>
      Array.from({ length: count }, () => ({ request: 'POST /outbound_call', reason: '503', at: new Date(0) }));
    expect(repeatedTooOften(repeated(20))).toEqual([]);
    expect(repeatedTooOften(repeated(21))).toHaveLength(21);
  });

  it.each(['127.0.0.1', '10.0.0.7', 'fd00::2'])('runs in production mode, with webhooks to %s', (webhookAddress) => {
    const settings = productionSettings({
      publicHost: 'localhost:1',
      simulatorUrl: 'http://127.0.0.1:2',
      mongodbUri: 'mongodb://127.0.0.1:3/callwright',
      temporalAddress: '127.0.0.1:4',
      certificateFile: '/a/cert.pem',
      nameserver: '127.0.0.1:5',
      webhookAddress,
      collectorUrl: 'http://127.0.0.1:6',
      short: false,
    });
    const { production, simulator, webhooks } = parseConfig(settings);
    // The checks of the run read the calls of the simulated carrier.
    expect([production, simulator.isControllable]).toEqual([true, true]);
    expect(webhooks.allowCidrs.every(isPrivateRange)).toBe(true);
    expect(webhooks.allowCidrs).toHaveLength(webhookAddress === '127.0.0.1' ? 0 : 1);
  });

  it('finds traces that are not one tree, and spans of a call in another trace', async () => {
    const callId = 'call_01JDZ3NDEKTSV4RRFFQ69G5FAV';
    const { traceId } = traceOfCall(callId) ?? { traceId: '' };
    const span = (name: string, spanId: string, parentId = '', own: object = {}) =>
      ({ name, traceId, spanId, parentId, attributes: {}, ...own }) as ReceivedSpan;
    const whole = [
      span('POST /outbound_call', '1'),
      span('RunWorkflow:CallWorkflow', '2', '1'),
      span('webhook attempt', '3', '2'),
      span('RunActivity:extendHold', '4', 'never sent'),
    ];
    const faultsOf = (spans: ReceivedSpan[], hasTalked = false) =>
      traceFaults({ spans, faults: [] }, new Map([[callId, { hasStream: hasTalked, hasReplies: hasTalked }]]), 0);
    expect(await faultsOf(whole)).toEqual([]);
    expect(await faultsOf(whole.slice(0, 2))).toEqual([`${callId}: webhook attempt is missing`]);
    expect(await faultsOf(whole, true)).toEqual(
      ['media stream', 'conversation', 'turn'].map((name) => `${callId}: ${name} is missing`),
    );
    expect(await faultsOf([...whole, span('turn', '5', '9')])).toEqual([`${callId}: the parent of turn is missing`]);
    expect(await faultsOf([...whole, span('again', '6')])).toEqual([
      `${callId}: 2 first spans: POST /outbound_call, again`,
    ]);
    const stray = span('turn', '7', '', { traceId: 'other', attributes: { 'callwright.call_id': callId } });
    expect(await faultsOf([...whole, stray])).toEqual([`${callId}: turn is in another trace`]);
  });

  it('places 200 calls, 20 in the short form, or as many as it is asked for', () => {
    expect(readOptions([])).toMatchObject({ calls: 200, embedded: false });
    expect(readOptions(['--short'])).toMatchObject({ calls: 20, embedded: true });
    expect(readOptions(['--calls', '7'])).toMatchObject({ calls: 7 });
    expect(() => readOptions(['--calls', 'x'])).toThrow('--calls must be a whole number');
  });
});
