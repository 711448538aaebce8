import { Client, Connection } from '@temporalio/client';
import type { Config } from '../config/config.js';

const TIMEOUT_MS = 10_000;

/**
 * Runs `work` with a client of Temporal that is closed afterwards.
 * @throws when Temporal is unavailable
 */
export async function withTemporalClient<T>(
  { temporal }: Pick<Config, 'temporal'>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { address, namespace, tls, apiKey } = temporal;
  const connection = await Connection.connect({
    address,
    tls,
    connectTimeout: TIMEOUT_MS,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  try {
    return await work(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}
