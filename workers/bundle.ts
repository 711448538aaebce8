import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** The file to which the build writes the workflow code, and from which workers load it. */
export const WORKFLOW_BUNDLE = path.join(__dirname, 'workflow-bundle.js');
/** The same with the interceptors that make spans, for workers that export traces. */
export const TRACED_WORKFLOW_BUNDLE = path.join(__dirname, 'workflow-bundle-traced.js');

async function buildBundle(file: string, workflowInterceptorModules: string[]): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows/index.js'),
    workflowInterceptorModules,
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(file, code);
}

async function buildBundles(): Promise<void> {
  await buildBundle(WORKFLOW_BUNDLE, []);
  const tracing = require.resolve('../src/platform/telemetry/tracing/workflow-interceptors.js');
  await buildBundle(TRACED_WORKFLOW_BUNDLE, [tracing]);
}

if (require.main === module) {
  buildBundles().catch((error: unknown) => {
    process.stderr.write(`The workflow bundle could not be built: ${String(error)}\n`);
    process.exitCode = 1;
  });
}
