import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { encodedFailures } from '../src/platform/temporal/data-converter.js';

interface Variant {
  /** With the interceptors that make spans, for workers that export traces. */
  traced: boolean;
  /** With the converter that encrypts failures, for workers that encrypt what Temporal stores. */
  encrypted: boolean;
}

/** Returns the file to which the build writes the workflow code, and from which workers load it. */
export function bundleFile({ traced, encrypted }: Variant): string {
  return path.join(__dirname, `workflow-bundle${traced ? '-traced' : ''}${encrypted ? '-encrypted' : ''}.js`);
}

async function buildBundle(variant: Variant): Promise<void> {
  const interceptors = require.resolve('../src/platform/telemetry/tracing/workflow-interceptors.js');
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows/index.js'),
    workflowInterceptorModules: variant.traced ? [interceptors] : [],
    ...(variant.encrypted ? { failureConverterPath: encodedFailures() } : {}),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(bundleFile(variant), code);
}

async function buildBundles(): Promise<void> {
  for (const traced of [false, true]) for (const encrypted of [false, true]) await buildBundle({ traced, encrypted });
}

if (require.main === module) {
  buildBundles().catch((error: unknown) => {
    process.stderr.write(`The workflow bundle could not be built: ${String(error)}\n`);
    process.exitCode = 1;
  });
}
