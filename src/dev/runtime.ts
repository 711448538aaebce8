import type { CarrierAccount, Config } from '../platform/config/config.js';
import type { DemoAccess } from './demo-account.js';
import { writeRuntime, type Runtime } from './runtime-file.js';
import type { WebhookInbox } from './webhook-inbox.js';

/** Builds the content of runtime.json. */
export function describeRuntime(p: {
  config: Config;
  demo: DemoAccess;
  inbox: WebhookInbox;
  temporalUiUrl: string;
  pids: Runtime['pids'];
}): Runtime {
  const { config, demo } = p;
  const live = simulatedAccount(config.carriers.live);
  const test = simulatedAccount(config.carriers.test);
  return {
    base_url: config.publicBaseUrl,
    stream_url: config.streamUrl,
    portal_url: `${config.publicBaseUrl}/portal`,
    carrier_url: config.carriers.test.baseUrl,
    temporal_address: config.temporal.address,
    temporal_ui_url: p.temporalUiUrl,
    mongodb_uri: config.mongodbUri,
    live_api_key: demo.live_api_key,
    test_api_key: demo.test_api_key,
    agent_id: demo.agentId,
    carrier_account_sid: live.carrierAccountId,
    carrier_auth_token: live.authToken,
    test_carrier_account_sid: test.carrierAccountId,
    test_carrier_auth_token: test.authToken,
    webhook_inbox_url: p.inbox.url,
    pids: p.pids,
  };
}

/**
 * Returns the account without the auth token if the carrier is real, because that token must not be written to a file.
 */
function simulatedAccount(account: CarrierAccount): { carrierAccountId: string; authToken: string } {
  return account.isSimulated ? account : { carrierAccountId: account.carrierAccountId, authToken: '' };
}

/** Keeps runtime.json up to date while processes start and stop. */
export function createRuntimePublisher(p: { dataFolder: string; report: (line: string) => void }) {
  let published: Runtime | undefined;
  let writing: Promise<void> = Promise.resolve();

  const write = (runtime: Runtime) => {
    writing = writing
      .then(() => writeRuntime(p.dataFolder, runtime))
      .catch((error: unknown) => p.report(`runtime.json could not be written: ${String(error)}`));
    return writing;
  };

  return {
    async publish(runtime: Runtime): Promise<void> {
      published = runtime;
      await write(runtime);
    },
    /** Publishes new pids. Ignored before the first `publish`, which contains them. */
    update(pids: Runtime['pids']): void {
      if (published === undefined) return;
      published.pids = pids;
      void write({ ...published });
    },
    /** Stops publishing; resolves after the last write. */
    async end(): Promise<void> {
      published = undefined;
      await writing;
    },
  };
}
