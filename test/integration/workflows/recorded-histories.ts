import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Harness } from './harness.js';

const FOLDER = path.resolve(__dirname, '../../histories');

/** Histories that a change of the workflow's code must still be able to replay: runs that were under way when it came. */
export async function readHistories() {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json')).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace('.json', ''),
      history: historyFromJSON(JSON.parse(await readFile(path.join(FOLDER, file), 'utf8'))),
    })),
  );
}

/** Saves a history under a name; done once for each kind of run, and again only when old runs are all over. */
async function saveHistory(harness: Pick<Harness, 'environment'>, workflowId: string, name: string): Promise<void> {
  const history = await harness.environment.client.workflow.getHandle(workflowId).fetchHistory();
  // Who ran it and where is no part of the story, and names a machine.
  const anonymous = (key: string, value: unknown) =>
    key === 'identity' ? 'worker' : key === 'stackTrace' ? '' : value;
  const json = JSON.stringify(JSON.parse(historyToJSON(history)), anonymous, 1);
  await writeFile(path.join(FOLDER, `${name}.json`), `${json}\n`);
}

/** With RECORD_HISTORIES=1, saves the history of a workflow's last run anew. */
export async function recordRun(
  harness: Pick<Harness, 'environment'>,
  workflowId: string,
  name: string,
): Promise<void> {
  if (process.env.RECORD_HISTORIES === '1') await saveHistory(harness, workflowId, name);
}

/**
 * With RECORD_HISTORIES=1, saves the history of the test's last call anew.
 * @param names of histories, by the ends of test names
 */
export async function recordHistory(harness: Harness, names: Readonly<Record<string, string>>): Promise<void> {
  const title = Object.keys(names).find((each) => expect.getState().currentTestName?.endsWith(each));
  if (process.env.RECORD_HISTORIES !== '1' || title === undefined) return;
  await saveHistory(harness, harness.lastCallId, names[title] ?? title);
}
