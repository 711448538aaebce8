import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Harness } from './harness.js';

const FOLDER = path.resolve(__dirname, '../../histories');

/**
 * Reads the saved histories. Changed workflow code must still be able to replay them, because workflows that began with
 * the old code may still be running.
 */
export async function readHistories() {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace('.json', ''),
      history: historyFromJSON(JSON.parse(await readFile(path.join(FOLDER, file), 'utf8'))),
    })),
  );
}

/** Saves a history. This is done once for each kind of workflow run, and again only when all old runs have ended. */
async function saveHistory(harness: Pick<Harness, 'environment'>, workflowId: string, name: string): Promise<void> {
  const history = await harness.environment.client.workflow.getHandle(workflowId).fetchHistory();
  // Leaves out the worker's identity, which contains the name of a machine and is irrelevant to the replay.
  const anonymize = (key: string, value: unknown) =>
    key === 'identity' ? 'worker' : key === 'stackTrace' ? '' : value;
  const json = JSON.stringify(JSON.parse(historyToJSON(history)), anonymize, 1);
  await writeFile(path.join(FOLDER, `${name}.json`), `${json}\n`);
}

/** With RECORD_HISTORIES=1, saves the history of a workflow's last run again. */
export async function recordRun(
  harness: Pick<Harness, 'environment'>,
  workflowId: string,
  name: string,
): Promise<void> {
  if (process.env.RECORD_HISTORIES === '1') await saveHistory(harness, workflowId, name);
}

/**
 * With RECORD_HISTORIES=1, saves the history of the last call of the test again.
 * @param names the names of histories, by how the names of their tests end
 */
export async function recordHistory(harness: Harness, names: Readonly<Record<string, string>>): Promise<void> {
  const title = Object.keys(names).find((each) => expect.getState().currentTestName?.endsWith(each));
  if (process.env.RECORD_HISTORIES !== '1' || title === undefined) return;
  await saveHistory(harness, harness.lastCallId, names[title] ?? title);
}
