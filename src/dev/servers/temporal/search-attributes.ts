import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { parseConfig } from '../../../platform/config/config.js';
import { connectionOptions } from '../../../platform/temporal/connection.js';
import { SEARCH_ATTRIBUTES } from '../../../platform/temporal/search-attributes.js';
import type { Report } from '../../processes/run-command.js';

const TIMEOUT_MS = 10_000;
const { INDEXED_VALUE_TYPE_KEYWORD } = temporal.api.enums.v1.IndexedValueType;

/**
 * Registers our search attributes with the configured Temporal server, because calls fail without them. If this is not
 * permitted (as in Temporal Cloud, which has a different procedure), reports the error and lets the start continue.
 */
export async function registerSearchAttributes(p: { env: NodeJS.ProcessEnv; report: Report }): Promise<void> {
  const { temporal: settings } = parseConfig(p.env);
  const { address, namespace } = settings;
  try {
    const connection = await Connection.connect(connectionOptions(settings));
    try {
      await connection.withDeadline(Date.now() + TIMEOUT_MS, () => addMissing(connection, namespace));
    } finally {
      await connection.close();
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const names = Object.keys(SEARCH_ATTRIBUTES).join(', ');
    p.report(`the search attributes of Temporal at ${address} could not be registered (${reason}); it needs ${names}`);
  }
}

async function addMissing({ operatorService }: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = Object.keys(SEARCH_ATTRIBUTES).filter((name) => customAttributes[name] === undefined);
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, INDEXED_VALUE_TYPE_KEYWORD]));
  await operatorService.addSearchAttributes({ namespace, searchAttributes });
}
