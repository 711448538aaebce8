import { Client, Connection } from '@temporalio/client';
import type { Config } from '../config/config.js';
import { connectionOptions } from './connection.js';
import { createDataConverter } from './data-converter.js';

const TIMEOUT_MS = 10_000;

/**
 * Runs `work` with a client of Temporal that is closed afterwards.
 * @throws when Temporal is unavailable
 */
export async function withTemporalClient<T>(
  { temporal }: Pick<Config, 'temporal'>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { namespace, payloadKeys } = temporal;
  const connection = await Connection.connect({ ...connectionOptions(temporal), connectTimeout: TIMEOUT_MS });
  try {
    return await work(new Client({ connection, namespace, dataConverter: createDataConverter(payloadKeys) }));
  } finally {
    await connection.close();
  }
}
