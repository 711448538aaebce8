import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { RETENTION } from '../support/production.js';
import { isPrivateRange } from '../../src/platform/config/private-ranges.js';

/** The host name of the customer's server, which only the name server of the run knows. */
export const WEBHOOK_HOST = 'hooks.shape.test';

export interface SettingsOptions {
  /** The host and port of the proxy. */
  publicHost: string;
  simulatorUrl: string;
  mongodbUri: string;
  temporalAddress: string;
  certificateFile: string;
  nameserver: string;
  /** The address of the customer's server. */
  webhookAddress: string;
  /** The address of the collector of traces. */
  collectorUrl: string;
  /** Whether to drain for less time than production does by default. */
  short: boolean;
}

/** The environment of every role: that of production, with secrets made for this run. */
export function productionSettings(p: SettingsOptions): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    PATH,
    HOME,
    NODE_ENV: 'production',
    NODE_EXTRA_CA_CERTS: p.certificateFile,
    LOG_LEVEL: 'info',
    PUBLIC_BASE_URL: `https://${p.publicHost}`,
    STREAM_URL: `wss://${p.publicHost}/stream`,
    TRUST_PROXY: 'true',
    API_KEY_PEPPER: randomBytes(32).toString('hex'),
    ENCRYPTION_KEYS: `shape:${randomBytes(32).toString('base64')}`,
    CARRIER: 'simulator',
    SIMULATOR_URL: p.simulatorUrl,
    SIMULATOR_CONTROL: 'true',
    ALLOWED_COUNTRY_PREFIXES: '+1',
    ...RETENTION,
    MONGODB_URI: p.mongodbUri,
    ALLOW_STANDALONE_MONGODB: 'true',
    TEMPORAL_ADDRESS: p.temporalAddress,
    WEBHOOK_NAMESERVERS: p.nameserver,
    OTEL_EXPORTER_OTLP_ENDPOINT: p.collectorUrl,
    OTEL_BSP_SCHEDULE_DELAY: '1000',
    ...(isPrivate(p.webhookAddress) ? { WEBHOOK_ALLOW_CIDRS: rangeOf(p.webhookAddress) } : {}),
    ...(p.short ? { DRAIN_DELAY_SECONDS: '3', ANSWER_WITHIN_MS: '5000' } : {}),
  };
}

/**
 * Returns a private address of this machine. Packets to it stay in the machine, and production may be allowed to send
 * webhooks there, unlike to loopback. Without one, returns the loopback address: every webhook then fails four times.
 */
export function webhookAddress(): string {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.find(({ address, internal }) => !internal && isPrivate(address))?.address ?? '127.0.0.1';
}

function isPrivate(address: string): boolean {
  return !address.includes('%') && isPrivateRange(rangeOf(address));
}

function rangeOf(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}
