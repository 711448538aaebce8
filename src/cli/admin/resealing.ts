import type { Config } from '../../platform/config/config.js';
import type { Database } from '../../database.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { AgentDocument, HttpTool } from '../../agents/model.js';
import type { CallRequestDocument } from '../../calls/call-request-model.js';
import type { DeploymentSecretDocument } from '../../platform/secrets/model.js';
import { deploymentContext } from '../../platform/secrets/deployment-tokens.js';
import { createSecretBox, keyIdOf } from '../../platform/secrets/secret-box.js';
import { headerContext } from '../../agents/tool-headers.js';
import { createWebhookSecretBox, isSealedByPepper } from '../../webhooks/signing/secrets.js';

/** Number of stored secrets per encryption key after the last pass. */
export interface Resealing {
  /** Secrets that were re-encrypted with the newest key. */
  resealed: number;
  /** Secrets that no configured key can decrypt; they are left unchanged. */
  unreadable: number;
  /** Every configured key, newest first, then keys that secrets still use but that are not configured. */
  keys: { keyId: string; secrets: number; configured: boolean }[];
}

/** The methods of the driver's collection that are used here. */
interface Collection {
  find(filter: object, options: object): { toArray(): Promise<unknown[]> };
  updateOne(filter: object, update: object): Promise<{ matchedCount: number }>;
}

/** A stored secret: where it is stored and how to re-encrypt it. */
interface Place {
  collection: Collection;
  _id: string;
  /** Path of the encrypted text in its document. */
  path: string;
  sealed: string;
  /** Re-encrypts the secret with the newest key. @throws Error when it cannot be decrypted */
  again: () => string;
}

type Deps = { database: Database; config: Pick<Config, 'apiKeyPepper' | 'formerPeppers' | 'encryptionKeys'> };

const PAGE = 200;
/**
 * Maximum passes. Passes repeat until one changes nothing, to find secrets that were modified during the previous pass.
 */
const MAX_PASSES = 5;
const PEPPER = 'API_KEY_PEPPER';

/**
 * Re-encrypts every stored secret with the newest key. Each secret is replaced separately, and only if it has not
 * changed since it was read. So the command may be interrupted, repeated, run twice at once, or run beside the service.
 * @throws the database's error
 */
export async function resealSecrets(deps: Deps): Promise<Resealing> {
  const { encryptionKeys } = deps.config;
  const newest = encryptionKeys[0]?.id;
  let resealed = 0;
  for (let pass = 1; ; pass += 1) {
    const counts = new Map<string, number>(encryptionKeys.map(({ id }) => [id, 0]));
    let [changed, unreadable] = [0, 0];
    for await (const place of places(deps)) {
      const keyId = isSealedByPepper(place.sealed) ? PEPPER : keyIdOf(place.sealed);
      const outcome = keyId === newest ? 'current' : await reseal(place);
      changed += outcome === 'resealed' ? 1 : 0;
      unreadable += outcome === 'unreadable' ? 1 : 0;
      const now = outcome === 'resealed' ? newest : keyId;
      counts.set(now ?? '', (counts.get(now ?? '') ?? 0) + 1);
    }
    resealed += changed;
    if (changed > 0 && pass < MAX_PASSES) continue;
    const configured = new Set(encryptionKeys.map(({ id }) => id));
    const keys = [...counts].map(([keyId, secrets]) => ({ keyId, secrets, configured: configured.has(keyId) }));
    return { resealed, unreadable, keys };
  }
}

async function reseal(place: Place): Promise<'resealed' | 'changed' | 'unreadable'> {
  const { collection, _id, path, sealed } = place;
  let fresh: string;
  try {
    fresh = place.again();
  } catch {
    return 'unreadable';
  }
  const { matchedCount } = await collection.updateOne({ _id, [path]: sealed }, { $set: { [path]: fresh } });
  return matchedCount === 1 ? 'resealed' : 'changed';
}

/** Yields all encrypted secrets in the database. Add new kinds of secrets here. */
async function* places({ database, config }: Deps): AsyncGenerator<Place> {
  const accounts = collectionOf(database.accounts);
  const agents = collectionOf(database.agents);
  const callRequests = collectionOf(database.callRequests);
  const deploymentSecrets = collectionOf(database.deploymentSecrets);
  const box = createSecretBox(config.encryptionKeys);
  const webhookBox = createWebhookSecretBox(config);
  const resealedIn = (context: string, sealed: string) => () => box.seal(context, box.open(context, sealed));
  const ofTools = (
    collection: Collection,
    p: { _id: string; accountId: string; path: string; tools?: HttpTool[] },
  ): Place[] =>
    (p.tools ?? []).flatMap(({ url, headers = [] }, tool) =>
      headers.map(({ name, sealed }, header) => ({
        collection,
        _id: p._id,
        path: `${p.path}.${tool}.headers.${header}.sealed`,
        sealed,
        again: resealedIn(headerContext(p.accountId, url, name), sealed),
      })),
    );
  for await (const { _id, webhookSecrets = [] } of documents<AccountDocument>(accounts, { webhookSecrets: 1 })) {
    for (const [index, stored] of webhookSecrets.entries()) {
      const again = () => webhookBox.seal(_id, stored.id, webhookBox.open(_id, stored));
      const path = `webhookSecrets.${index}.sealed`;
      yield { collection: accounts, _id, path, sealed: stored.sealed, again };
    }
  }
  for await (const { _id, accountId, tools } of documents<AgentDocument>(agents, { accountId: 1, tools: 1 })) {
    yield* ofTools(agents, { _id, accountId, path: 'tools', ...(tools ? { tools } : {}) });
  }
  const ofCalls = documents<CallRequestDocument>(callRequests, { accountId: 1, 'agent.tools': 1 });
  for await (const { _id, accountId, agent } of ofCalls) {
    const { tools } = agent as Partial<CallRequestDocument['agent']>;
    yield* ofTools(callRequests, { _id, accountId, path: 'agent.tools', ...(tools ? { tools } : {}) });
  }
  for await (const { _id, sealed } of documents<DeploymentSecretDocument>(deploymentSecrets, { sealed: 1 })) {
    const again = resealedIn(deploymentContext(_id), sealed);
    yield { collection: deploymentSecrets, _id, path: 'sealed', sealed, again };
  }
}

function collectionOf(model: { collection: unknown }): Collection {
  return model.collection as Collection;
}

/** Yields all documents, read in pages by id, so that no single read takes long. */
async function* documents<T extends { _id: string }>(
  collection: Collection,
  projection: Record<string, 1>,
): AsyncGenerator<T> {
  for (let last = ''; ;) {
    const found = collection.find({ _id: { $gt: last } }, { projection, sort: { _id: 1 }, limit: PAGE });
    const page = (await found.toArray()) as T[];
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = end._id;
  }
}
