import { carrierAccounts, carrierFaults } from './carriers/carriers.js';
import { acceptedHosts, developmentFaults } from './development.js';
import { isTemporalPlain } from './database-links.js';
import { encryptionKeys } from './encryption.js';
import { assertEngineSettings, configuredEngineNames, engineSettings } from './engines/engines.js';
import { DEVELOPMENT_PEPPER, itemsOf, parseEnvironment, type Environment } from './environment.js';
import { defaultLiveLimits, liveTransfersOf, testSpendCapOf } from './live-limits.js';
import { productionFaults } from './production.js';
import { readRateDeck } from './files/rate-deck.js';
import { recordingFaults, recordingSettings } from './recording-settings.js';
import { retentionSettings } from './retention-settings.js';
import { withSecretFiles } from './files/secret-files.js';
import { payloadKeys } from './temporal/payload-keys.js';
import { taskQueues } from './temporal/task-queues.js';
import { temporalTls, temporalTlsFaults } from './temporal/tls.js';
import { workerCapacities } from './temporal/worker-variables.js';
import { traceSettings } from './trace-variables.js';
import { withoutTrailing } from '../../kernel/text.js';

export {
  configuredEngineNames,
  allowedModels,
  configuredVoices,
  engineConfigOf,
  offeredEngineNames,
} from './engines/engines.js';
export { TEST_FROM_NUMBER } from './carriers/simulator.js';
export type { CarrierAccount, CarrierApiKey } from './carriers/account.js';
export type { CarrierAccounts, CarrierName } from './carriers/carriers.js';
export type { CarrierPool } from './carriers/accounts-file.js';
export { DEFAULT_ACCOUNT } from './carriers/account.js';
export type { OpenAiRealtimeSettings } from './engines/engines.js';
export type { PipelineSettings } from './engines/pipeline-settings.js';

export type Config = ReturnType<typeof settingsOf>;

/**
 * Parses the environment once, at start-up.
 * @throws Error with one sentence for each invalid variable
 */
export function parseConfig(env: NodeJS.ProcessEnv): Config {
  const config = settingsOf(env);
  assertEngineSettings(config);
  return config;
}

function settingsOf(env: NodeJS.ProcessEnv) {
  const { given, values, faults } = readEnvironment(env);
  const production = values.NODE_ENV === 'production';
  const readEngines = () => engineSettings(values, given['ENGINE'] !== undefined);
  const malformed = new Set(faults.map(({ variable }) => variable));
  assertNoFaults([
    ...faults.map(({ sentence }) => sentence),
    ...(production ? productionFaults(values) : developmentFaults(values)).flatMap((fault) =>
      malformed.has(fault.variable) ? [] : [fault.sentence],
    ),
    ...mailFaults(values).concat(recordingFaults(values), temporalTlsFaults(values), carrierFaults(values, malformed)),
    ...[() => carrierAccounts(values), readEngines].flatMap(faultsOf),
  ]);
  const engines = readEngines();
  return {
    production,
    logLevel: values.LOG_LEVEL,
    publicBaseUrl: withoutTrailing(values.PUBLIC_BASE_URL, '/'),
    streamUrl: withoutTrailing(values.STREAM_URL, '/'),
    api: {
      host: values.API_HOST,
      port: values.API_PORT,
      trustProxy: values.TRUST_PROXY,
      hosts: acceptedHosts(values),
    },
    /** How long a process still serves after SIGTERM, so that load balancers notice that it is not ready. */
    drainDelayMs: 1_000 * (values.DRAIN_DELAY_SECONDS ?? (production ? 5 : 0)),
    media: mediaSettings(values),
    simulator: simulatorRole(values),
    mongodbUri: values.MONGODB_URI,
    /** Whether production may run on a standalone MongoDB, which can lose acknowledged writes. */
    standaloneMongodbAllowed: values.ALLOW_STANDALONE_MONGODB,
    temporal: temporalSettings(values),
    codec: codecSettings(values),
    metrics: metricsSettings(values),
    tracing: traceSettings(values),
    worker: workerSettings(values),
    reconciliation: reconciliationSettings(values),
    recordings: recordingSettings(values),
    retention: retentionSettings(values),
    /** Whether the events of each conversation are stored with its call. */
    sessionLogs: values.SESSION_LOG === 'on',
    ...pepperSettings(values),
    /** Encryption keys, newest first. */
    encryptionKeys: encryptionKeys(values.ENCRYPTION_KEYS),
    carriers: carrierAccounts(values),
    calls: callSettings(values, engines),
    engines,
    webhooks: webhookSettings(values),
    /** Whether accounts may add phone numbers themselves. */
    selfServiceNumbers: values.SELF_SERVICE_NUMBERS ?? !production,
    signUp: signUpSettings(values),
    /** Absent: the service sends no e-mail. */
    mail: mailSettings(values),
    payments: paymentSettings(values),
    voicemailDetection: values.VOICEMAIL_DETECTION === 'on',
  };
}

function readEnvironment(env: NodeJS.ProcessEnv) {
  const { given, faults } = withSecretFiles(env);
  const parsed = parseEnvironment(given);
  return { given, values: parsed.values, faults: [...faults, ...parsed.faults] };
}

function pepperSettings({ API_KEY_PEPPER: pepper = DEVELOPMENT_PEPPER, API_KEY_FORMER_PEPPERS: list }: Environment) {
  const formerPeppers = list === undefined ? [] : list.split(',');
  return {
    apiKeyPepper: pepper,
    /** Other peppers that are accepted while the pepper changes. */
    formerPeppers,
    /** The pepper of derived ids and counts. It stays the same when the pepper changes places with a former one. */
    stablePepper: [pepper, ...formerPeppers].toSorted()[0] ?? pepper,
  };
}

function reconciliationSettings(values: Environment) {
  return {
    holdLimitSeconds: values.RECONCILE_HOLDS_AFTER_SECONDS,
    graceSeconds: values.RECONCILE_GRACE_SECONDS,
  };
}

function simulatorRole(values: Environment) {
  return {
    host: values.SIMULATOR_HOST,
    port: values.SIMULATOR_PORT,
    timeScale: values.SIMULATOR_TIME_SCALE,
    /** Whether it has its control API. */
    isControllable: values.SIMULATOR_CONTROL ?? values.NODE_ENV !== 'production',
  };
}

function paymentSettings(values: Environment) {
  const linkIds = itemsOf(values.PAYMENT_LINK_IDS);
  return {
    webhookSecret: values.PAYMENT_WEBHOOK_SECRET,
    /** Ids of the payment links that sell top-ups; undefined: every paid checkout is a top-up. */
    linkIds: linkIds.length === 0 || linkIds.includes('any') ? undefined : linkIds,
    /** Page on which customers add money; absent: there is none. */
    url: values.PAYMENT_URL,
    /** Web page or mailto address of the operator; absent: none is published. */
    contactUrl: values.OPERATOR_CONTACT_URL,
  };
}

function mediaSettings(values: Environment) {
  return {
    host: values.MEDIA_HOST,
    port: values.MEDIA_PORT,
    /** How long calls may continue after SIGTERM, and the rest may take to move. */
    drainMs: 1_000 * values.MEDIA_DRAIN_SECONDS,
    maxCalls: values.MEDIA_MAX_CALLS,
  };
}

function metricsSettings(values: Environment) {
  /** Without a port, the process serves no metrics. */
  return { host: values.METRICS_HOST, port: values.METRICS_PORT };
}

function workerSettings(values: Environment) {
  return {
    buildId: values.WORKER_BUILD_ID,
    deploymentName: values.WORKER_DEPLOYMENT_NAME,
    /** The queues that this worker serves. */
    queues: values.WORKER_QUEUES,
    capacity: workerCapacities(values),
    stackFrames: values.WORKER_STACK_FRAMES,
    metricsAddress: values.WORKER_METRICS_ADDRESS,
    host: values.WORKER_HOST,
    /** Port for health checks; absent: there are none. */
    port: values.WORKER_PORT,
  };
}

function temporalSettings(values: Environment) {
  return {
    address: values.TEMPORAL_ADDRESS,
    namespace: values.TEMPORAL_NAMESPACE,
    taskQueues: taskQueues(values.TEMPORAL_TASK_QUEUE),
    /** False: without TLS. */
    tls: temporalTls(values),
    /** True if production connects without TLS to a host outside private networks. */
    exposed: values.NODE_ENV === 'production' && isTemporalPlain(values),
    apiKey: values.TEMPORAL_API_KEY,
    /** Days for which the set-up makes the namespace keep histories; undefined: it does not change the namespace. */
    retentionDays: values.TEMPORAL_RETENTION_DAYS,
    payloadKeys: payloadKeys(values.TEMPORAL_PAYLOAD_KEYS),
    uiUrl: values.TEMPORAL_UI_URL && withoutTrailing(values.TEMPORAL_UI_URL, '/'),
  };
}

function codecSettings(values: Environment) {
  const { CODEC_ORIGINS: origins, TEMPORAL_UI_URL: uiUrl } = values;
  return {
    host: values.CODEC_HOST,
    port: values.CODEC_PORT,
    token: values.CODEC_TOKEN,
    /** Origins of the pages that may read decrypted payloads. */
    origins: origins === undefined ? (uiUrl === undefined ? [] : [new URL(uiUrl).origin]) : itemsOf(origins),
  };
}

function callSettings(values: Environment, engines: ReturnType<typeof engineSettings>) {
  return {
    answerWithinMs: values.ANSWER_WITHIN_MS,
    ringSeconds: values.RING_SECONDS,
    holdWindows: values.HOLD_WINDOWS,
    defaultVoice: values.DEFAULT_VOICE,
    defaultLanguage: values.DEFAULT_LANGUAGE,
    allowedCountryPrefixes: itemsOf(values.ALLOWED_COUNTRY_PREFIXES).filter((prefix) => prefix !== 'all'),
    /** Default account limits where live calls can cost the operator more than they are billed; absent: none. */
    liveLimits: defaultLiveLimits(values, configuredEngineNames({ engines }).length > 1),
    /** Test calls per account and UTC day; absent: no limit. */
    testCallsPerDay: values.TEST_CALLS_PER_DAY === 'none' ? undefined : values.TEST_CALLS_PER_DAY,
    /** Micro-USD of test calls per account and UTC day, if their engine costs money; absent: no limit. */
    testSpendCapMicros: engines.forTests === 'offline-demo' ? undefined : testSpendCapOf(values),
    /** Whether agents may transfer live calls; always true on the simulated carrier. */
    liveTransfers: liveTransfersOf(values),
    rates: readRateDeck(values.RATE_DECK_FILE),
    /** Origins of other sites whose pages may open the sockets of calls in the browser. */
    webOrigins: itemsOf(values.WEB_CALL_ORIGINS),
  };
}

function webhookSettings(values: Environment) {
  const production = values.NODE_ENV === 'production';
  return {
    allowCidrs: itemsOf(values.WEBHOOK_ALLOW_CIDRS),
    guarded: production,
    /**
     * Port ranges that customers' URLs may use, both ends included. Empty: all ports except those that other protocols
     * use.
     */
    ports: values.WEBHOOK_PORTS ?? [],
    /** DNS servers for the hostnames in customers' URLs; empty: the system's. */
    nameservers: values.WEBHOOK_NAMESERVERS ?? [],
  };
}

function signUpSettings(values: Environment) {
  const production = values.NODE_ENV === 'production';
  return {
    /** `open`: anyone can open an account; `invite`: people join by invitation; `off`: operators create members. */
    mode: values.SIGN_UP ?? (production ? ('invite' as const) : ('open' as const)),
    /** Whether a new account must verify its e-mail address. Otherwise every address counts as verified. */
    verifiesEmail: production || values.SMTP_URL !== undefined,
  };
}

function faultsOf(build: () => unknown): string[] {
  try {
    build();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function assertNoFaults(faults: string[]): void {
  if (faults.length > 0) throw new Error(`The configuration is invalid. ${faults.join(' ')}`);
}

function mailFaults({ SMTP_URL, MAIL_FROM }: Environment): string[] {
  if (SMTP_URL === undefined || MAIL_FROM !== undefined) return [];
  return ['SMTP_URL needs MAIL_FROM, the address that e-mail is sent from.'];
}

function mailSettings({ SMTP_URL, MAIL_FROM }: Environment): { smtpUrl: string; from: string } | undefined {
  return SMTP_URL === undefined || MAIL_FROM === undefined ? undefined : { smtpUrl: SMTP_URL, from: MAIL_FROM };
}
