import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** The file to which the build writes the workflow code, and from which workers load it. */
export const WORKFLOW_BUNDLE = path.join(__dirname, 'workflow-bundle.js');

async function buildBundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows/index.js'),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(WORKFLOW_BUNDLE, code);
}

if (require.main === module) {
  buildBundle().catch((error: unknown) => {
    process.stderr.write(`The workflow bundle could not be built: ${String(error)}\n`);
    process.exitCode = 1;
  });
}
