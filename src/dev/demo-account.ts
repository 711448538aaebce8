import type { Config } from '../platform/config/config.js';
import { createApiKeys } from '../identity/api-keys/api-keys.js';
import type { Database } from '../database.js';
import { seedDemo, seedDemoOwner } from './seed.js';
import { readSecrets, writeSecrets, type Secrets } from './runtime-file.js';

export interface DemoAccess extends Secrets {
  accountId: string;
  agentId: string;
  phoneNumber: string;
  /** Portal login of the owner. Null if the owner existed before, because only a hash of the password is stored. */
  owner: { email: string; password: string } | null;
}

/**
 * Creates or reuses the demo account and makes sure that its API keys work. Keys from an earlier start are reused; lost
 * or revoked ones are replaced.
 */
export async function prepareDemoAccount(p: {
  database: Database;
  config: Config;
  dataFolder: string;
  webhookUrl: string;
}): Promise<DemoAccess> {
  const { database, config, dataFolder, webhookUrl } = p;
  const kept = await readSecrets(dataFolder);
  const usable = kept !== undefined && (await areValid(p, kept));
  const { accountId, agentId, phoneNumber, liveApiKey, testApiKey } = await seedDemo({
    database,
    webhookUrl,
    pepper: config.apiKeyPepper,
    voice: config.calls.defaultVoice,
    language: config.calls.defaultLanguage,
    reissueKeys: !usable,
  });
  const secrets = usable ? kept : { live_api_key: liveApiKey ?? '', test_api_key: testApiKey ?? '' };
  if (!usable) await writeSecrets(dataFolder, secrets);
  return { ...secrets, accountId, agentId, phoneNumber, owner: await seedDemoOwner(database) };
}

async function areValid(p: { database: Database; config: Config }, secrets: Secrets): Promise<boolean> {
  const apiKeys = createApiKeys({ database: p.database, pepper: p.config.apiKeyPepper });
  const live = await apiKeys.authenticate(secrets.live_api_key);
  const test = await apiKeys.authenticate(secrets.test_api_key);
  return live?.key.mode === 'live' && test?.key.mode === 'test';
}
