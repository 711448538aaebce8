import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { StoredWebhookSecret } from '../../src/identity/accounts/model.js';
import { createWebhookSecrets } from '../../src/webhooks/signing/secrets.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

let service: Service;
let customer: Customer;
let ask: ReturnType<typeof managementOf>;

beforeAll(async () => {
  service = await startService({ worker: false });
  ask = managementOf(service);
});
afterAll(() => service.close());
beforeEach(async () => {
  customer = await service.customer(0);
});

/** Returns the key with which earlier releases encrypted webhook secrets. */
const pepperKey = () => createHmac('sha256', service.config.apiKeyPepper).update('webhook secrets').digest();

/** Encrypts a webhook secret as earlier releases did. */
function sealedByPepper(accountId: string, secret: Buffer): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', pepperKey(), nonce).setAAD(Buffer.from(accountId));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

function openWithPepper(accountId: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', pepperKey(), bytes.subarray(0, 12)).setAAD(Buffer.from(accountId));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
}

async function storedOf(accountId: string): Promise<StoredWebhookSecret[]> {
  const account = await service.database.accounts.findById(accountId).lean<{ webhookSecrets: StoredWebhookSecret[] }>();
  return account?.webhookSecrets ?? [];
}

async function rotate(body: object = {}): Promise<string> {
  return String((await ask.post('/webhook_signing/rotate', customer.liveKey, body)).json['secret']);
}

const secretsOf = () => createWebhookSecrets({ database: service.database, config: service.config });

describe('the secret that signs webhooks', () => {
  it('cannot be decrypted with the pepper of API keys', async () => {
    const secret = await rotate();
    const [stored] = await storedOf(customer.account._id);
    expect(stored?.sealed).toMatch(/^development\./);
    expect(() => openWithPepper(customer.account._id, stored?.sealed ?? '')).toThrow(/authenticate/);
    const [key] = await secretsOf().keys(customer.account._id);
    expect(`whsec_${key?.toString('base64')}`).toBe(secret);
  });

  it('of an earlier release still signs, beside the one that replaces it', async () => {
    const before = randomBytes(32);
    const old = { id: 'whs_OLD', sealed: sealedByPepper(customer.account._id, before), createdAt: new Date() };
    await service.database.accounts.updateOne({ _id: customer.account._id }, { $set: { webhookSecrets: [old] } });
    expect(await secretsOf().keys(customer.account._id)).toEqual([before]);
    const fresh = await rotate({ overlap_hours: 1 });
    const keys = await secretsOf().keys(customer.account._id);
    expect(keys.map((key) => `whsec_${key.toString('base64')}`)).toEqual([fresh, `whsec_${before.toString('base64')}`]);
    expect(() => new Webhook(fresh)).not.toThrow();
  });

  it('can be decrypted only for its own account and id', async () => {
    await rotate();
    const [stored] = await storedOf(customer.account._id);
    const other = await service.customer(0);
    await service.database.accounts.updateOne({ _id: other.account._id }, { $set: { webhookSecrets: [stored] } });
    await expect(secretsOf().keys(other.account._id)).rejects.toThrow(/authenticate/);
    const moved = { ...stored, id: 'whs_OTHER' };
    await service.database.accounts.updateOne({ _id: customer.account._id }, { $set: { webhookSecrets: [moved] } });
    await expect(secretsOf().keys(customer.account._id)).rejects.toThrow(/authenticate/);
  });
});
